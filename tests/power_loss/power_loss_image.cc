#include "tests/power_loss/power_loss_image.h"

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "domain/check.h"
#include "tests/fixtures/file_content.h"
#include "tests/store/log_directory.h"

namespace signalbox::test {
namespace {

using Kind = DiskOperation::Kind;
using Operations = std::vector<const DiskOperation*>;

constexpr std::size_t page_bytes = 4096;
constexpr int directory_entry = -1;

struct FileState {
  std::string durable;
  Operations pending;   // since the last sync
  Operations doubtful;  // pending when a sync failed
};

struct DirectoryState {
  std::map<std::string, int> durable;  // a file's number, or a_directory
  Operations pending;
};

std::pair<std::string, std::string> parent_and_name(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {"", path};
  return {path.substr(0, slash), path.substr(slash + 1)};
}

void write_into(std::string& bytes, std::uint64_t place, std::string_view written) {
  if (bytes.size() < place + written.size()) bytes.resize(place + written.size());
  bytes.replace(place, written.size(), written);
}

void apply_to_bytes(const DiskOperation& operation, std::string& bytes) {
  if (operation.kind == Kind::truncate) {
    bytes.resize(operation.place);
  } else {
    write_into(bytes, operation.place, operation.bytes);
  }
}

void apply_to_names(const DiskOperation& operation, std::map<std::string, int>& names) {
  const std::string name = parent_and_name(operation.path).second;
  switch (operation.kind) {
    case Kind::create:
      names[name] = operation.file;
      return;
    case Kind::make_directory:
      names[name] = directory_entry;
      return;
    case Kind::remove:
      names.erase(name);
      return;
    case Kind::rename:
      names.erase(name);
      names[parent_and_name(operation.new_path).second] = operation.file;
      return;
    default:
      SIGNALBOX_CHECK(false);
  }
}

class Machine {
 public:
  explicit Machine(PowerLoss loss) : loss_(loss), random_(loss.seed) {}

  void apply(const DiskOperation& operation) {
    switch (operation.kind) {
      case Kind::nothing:
        return;
      case Kind::create:
      case Kind::make_directory:
      case Kind::remove:
      case Kind::rename:
        if (operation.kind == Kind::rename) {
          SIGNALBOX_CHECK(parent_and_name(operation.path).first ==
                          parent_and_name(operation.new_path).first);
        }
        directories_[parent_and_name(operation.path).first].pending.push_back(&operation);
        return;
      case Kind::write:
      case Kind::truncate:
        files_[operation.file].pending.push_back(&operation);
        return;
      case Kind::sync:
        sync(files_[operation.file]);
        return;
      case Kind::failed_sync: {
        FileState& file = files_[operation.file];
        const auto writes = std::stable_partition(
            file.pending.begin(), file.pending.end(),
            [](const DiskOperation* each) { return each->kind == Kind::truncate; });
        file.doubtful.insert(file.doubtful.end(), writes, file.pending.end());
        file.pending.erase(writes, file.pending.end());
        return;
      }
      case Kind::sync_directory: {
        DirectoryState& directory = directories_[operation.path];
        for (const DiskOperation* each : directory.pending)
          apply_to_names(*each, directory.durable);
        directory.pending.clear();
        return;
      }
    }
  }

  void lose_power() {
    for (auto& [path, directory] : directories_) {
      const std::size_t kept = part_of(directory.pending.size());
      for (std::size_t i = 0; i < kept; ++i) {
        apply_to_names(*directory.pending[i], directory.durable);
      }
    }
    for (auto& [number, file] : files_) lose_power_of(file);
  }

  // Writes the files that are reachable by durable names.
  void write(const std::string& directory, const std::filesystem::path& to) {
    std::filesystem::create_directories(to);
    for (const auto& [name, file] : directories_[directory].durable) {
      if (file == directory_entry) {
        write(directory.empty() ? name : directory + "/" + name, to / name);
      } else {
        write_text(to / name, files_[file].durable);
      }
    }
  }

 private:
  void sync(FileState& file) {
    for (const DiskOperation* each : file.pending) {
      apply_to_bytes(*each, file.durable);
      // Doubtful bytes behind a durable truncation can't reappear.
      if (each->kind != Kind::truncate) continue;
      std::erase_if(file.doubtful,
                    [each](const DiskOperation* old) { return old->place >= each->place; });
    }
    file.pending.clear();
  }

  void lose_power_of(FileState& file) {
    const std::size_t synced = file.durable.size();
    for (const DiskOperation* each : file.doubtful) {
      if (part_of(1) == 1) apply_to_bytes(*each, file.durable);
    }
    const std::size_t kept = part_of(file.pending.size());
    for (std::size_t i = 0; i < kept; ++i) apply_to_bytes(*file.pending[i], file.durable);
    if (loss_.leaves != PowerLoss::Leaves::a_random_part) return;
    if (kept < file.pending.size() && file.pending[kept]->kind == Kind::write) {
      const DiskOperation& torn = *file.pending[kept];
      write_into(file.durable, torn.place,
                 std::string_view(torn.bytes).substr(0, part_of(torn.bytes.size())));
    }
    if (file.durable.size() > synced && part_of(3) == 0) leave_zeros(file.durable, synced);
  }

  void leave_zeros(std::string& bytes, std::size_t from) {
    const std::size_t first = from / page_bytes + part_of((bytes.size() - from) / page_bytes);
    const std::size_t begin = std::max(from, first * page_bytes);
    const std::size_t end = std::min(bytes.size(), (first + 1 + part_of(4)) * page_bytes);
    std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(begin),
              bytes.begin() + static_cast<std::ptrdiff_t>(std::max(begin, end)), '\0');
  }

  // Returns how many of `all` survive: a number from 0 to `all`.
  std::size_t part_of(std::size_t all) {
    if (loss_.leaves == PowerLoss::Leaves::the_synced) return 0;
    if (loss_.leaves == PowerLoss::Leaves::everything) return all;
    return std::uniform_int_distribution<std::size_t>(0, all)(random_);
  }

  PowerLoss loss_;
  std::mt19937_64 random_;
  std::map<int, FileState> files_;
  std::map<std::string, DirectoryState> directories_;
};

}  // namespace

void write_power_loss_image(std::span<const DiskOperation> done, PowerLoss loss,
                            const std::filesystem::path& to) {
  Machine machine(loss);
  for (const DiskOperation& operation : done) machine.apply(operation);
  machine.lose_power();
  std::filesystem::remove_all(to);
  machine.write("", to);
}

}  // namespace signalbox::test
