#include "tools/audit/erased_text_search.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <functional>
#include <optional>

#include "domain/try.h"
#include "store/file_descriptor.h"

namespace signalbox {
namespace {

constexpr std::size_t line_bytes_min = 8;
constexpr std::size_t word_bytes_min = 16;
constexpr std::size_t pieces_max = 64;
constexpr std::size_t block_bytes = std::size_t{1024} * 1024;

// Calls visit(part) for each non-empty part between characters of `separators`.
template <class Visit>
void split(std::string_view text, std::string_view separators, Visit&& visit) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(separators), text.size());
    if (end > 0) visit(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

// Searches for all pieces, with one Boyer-Moore-Horspool table for each.
class PieceSearch {
 public:
  explicit PieceSearch(const std::vector<std::string>& pieces) : found_(pieces.size()) {
    for (const std::string& piece : pieces) {
      searchers_.emplace_back(piece.begin(), piece.end());
      longest_ = std::max(longest_, piece.size());
    }
  }

  // Returns whether any piece is in `bytes`, and notes which ones are.
  bool in(std::string_view bytes) {
    bool any = false;
    for (std::size_t index = 0; index < searchers_.size(); ++index) {
      if (std::search(bytes.begin(), bytes.end(), searchers_[index]) == bytes.end()) continue;
      any = found_[index] = true;
    }
    return any;
  }

  // Returns the same for a file, read block by block; nullopt if it can't be read.
  std::optional<bool> in_file(const std::filesystem::path& path) {
    const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!file) return errno == ENOENT ? std::optional(false) : std::nullopt;
    std::string bytes;
    for (;;) {
      const std::size_t kept = bytes.size();
      bytes.resize(kept + block_bytes);
      ssize_t count = 0;
      do {
        count = ::read(file.get(), bytes.data() + kept, block_bytes);
      } while (count < 0 && errno == EINTR);
      if (count < 0) return std::nullopt;
      if (count == 0) return false;
      bytes.resize(kept + static_cast<std::size_t>(count));
      if (in(bytes)) return true;
      if (bytes.size() >= longest_) bytes.erase(0, bytes.size() - longest_ + 1);
    }
  }

  [[nodiscard]] bool found(std::size_t index) const { return found_[index]; }

 private:
  std::vector<std::boyer_moore_horspool_searcher<std::string::const_iterator>> searchers_;
  std::vector<bool> found_;
  std::size_t longest_ = 0;
};

Called<void> search_records(const RocksEventLog& log, PieceSearch& search,
                            RemainingPlaces& places) {
  Stored<void> decoding;
  const auto search_frame = [&](const Frame& frame) {
    if (!search.in(frame.salted_payload.substr(salt_bytes)) && !search.in(frame.header)) {
      return true;
    }
    RemainingPlace place;
    place.position = frame.position;
    Record record;
    decoding = decode_frame(frame, record);
    if (!decoding) return false;
    for (const FoundText& each : free_texts(record.event)) {
      const bool known =
          std::find(place.fields.begin(), place.fields.end(), each.field) != place.fields.end();
      if (!known && search.in(each.text)) place.fields.push_back(each.field);
    }
    places.add(std::move(place));
    return true;
  };
  const Horizon horizon = log.horizon();
  std::vector<PositionRange> there = horizon.kept;
  there.push_back({horizon.position + 1, log.tail()});
  for (const PositionRange& range : there) {
    TRY(called(log.scan_frames(range.first, range.last, search_frame)));
    if (!decoding) return tl::unexpected(from_store_error(decoding.error()));
  }
  return {};
}

using ExcludedPaths = std::vector<std::filesystem::path>;

struct SearchedFiles {
  std::vector<std::filesystem::path> with_pieces;
  std::vector<std::filesystem::path> unsearched;  // also directories
};

// Searches the files below the directory. Jobs decide how deep their directories are, so one is
// open at a time. A running server may remove any of them meanwhile.
SearchedFiles files_with_pieces(const std::filesystem::path& directory,
                                const ExcludedPaths& excluded, PieceSearch& search) {
  SearchedFiles files;
  std::vector<std::filesystem::path> waiting{directory};
  const auto note_failure = [&files](const std::filesystem::path& path, std::error_code failed) {
    const bool is_gone = failed == std::errc::no_such_file_or_directory;
    if (failed && !is_gone) files.unsearched.push_back(path);
  };
  while (!waiting.empty()) {
    const std::filesystem::path looked_into = std::move(waiting.back());
    waiting.pop_back();
    std::error_code failed;
    std::filesystem::directory_iterator each(looked_into, failed);
    for (const std::filesystem::directory_iterator end; !failed && each != end;
         each.increment(failed)) {
      const std::filesystem::path& path = each->path();
      std::error_code unknown;
      const auto status = each->symlink_status(unknown);
      note_failure(path, unknown);
      if (std::filesystem::is_directory(status)) {
        const bool is_searched =
            std::find(excluded.begin(), excluded.end(), path) == excluded.end();
        if (is_searched) waiting.push_back(path);
      } else if (std::filesystem::is_regular_file(status)) {
        const auto found = search.in_file(path);
        if (!found) files.unsearched.push_back(path);
        if (found && *found) files.with_pieces.push_back(path);
      }
    }
    note_failure(looked_into, failed);
  }
  return files;
}

void search_files(const std::filesystem::path& directory, const ExcludedPaths& excluded,
                  PieceSearch& search, RemainingPlaces& places) {
  SearchedFiles files = files_with_pieces(directory, excluded, search);
  std::sort(files.with_pieces.begin(), files.with_pieces.end());
  for (std::filesystem::path& file : files.with_pieces) places.add({0, std::move(file), {}});
  for (std::filesystem::path& path : files.unsearched) places.add({0, std::move(path), {}, true});
}

// Returns the position in the name of a file of an export, `events-000000000018.jsonl`; else 0.
Position first_record_of(const std::filesystem::path& file) {
  const std::string name = file.stem().string();
  const std::size_t digits = name.find_first_of("123456789");
  Position first = 0;
  if (digits != std::string::npos) {
    std::from_chars(name.data() + digits, name.data() + name.size(), first);
  }
  return first;
}

}  // namespace

void RemainingPlaces::add(RemainingPlace place) {
  ++total;
  if (kept.size() < kept_max) kept.push_back(std::move(place));
}

std::vector<std::string> search_pieces(const std::vector<FoundText>& texts) {
  std::vector<std::string> pieces;
  const auto add = [&pieces](std::string_view piece) {
    if (pieces.size() == pieces_max) return;
    if (std::find(pieces.begin(), pieces.end(), piece) == pieces.end()) pieces.emplace_back(piece);
  };
  // Words come first, since they are found in any context, and the number of pieces is bounded.
  for (const FoundText& each : texts) {
    split(each.text, " \t\r\n\"'`\\,;()[]{}<>", [&](std::string_view word) {
      if (word.size() >= word_bytes_min) add(word);
    });
  }
  for (const FoundText& each : texts) {
    split(each.text, "\r\n\"\\", [&](std::string_view line) {
      // What was erased earlier isn't searched for: each redacted record has "[redacted]".
      if (line.size() >= line_bytes_min && blanked_text.find(line) == std::string_view::npos)
        add(line);
    });
  }
  return pieces;
}

RemainingPlaces search_archive(const std::filesystem::path& archive,
                               const std::vector<std::string>& pieces) {
  RemainingPlaces places;
  PieceSearch search(pieces);
  std::error_code failed;
  std::vector<std::filesystem::path> files;
  for (std::filesystem::directory_iterator each(archive, failed), end; !failed && each != end;
       each.increment(failed)) {
    if (each->path().extension() == ".jsonl") files.push_back(each->path());
  }
  if (failed) places.add({0, archive, {}, true});
  std::sort(files.begin(), files.end());
  for (const std::filesystem::path& file : files) {
    Position position = first_record_of(file);
    std::ifstream lines(file, std::ios::binary);
    for (std::string line; std::getline(lines, line); ++position) {
      if (search.in(line)) places.add({position, file, {}});
    }
    if (!lines.is_open() || lines.bad()) places.add({0, file, {}, true});
  }
  return places;
}

Called<RemainingPlaces> search_erased(const std::filesystem::path& data, const RocksEventLog& log,
                                      const std::vector<std::string>& pieces) {
  RemainingPlaces places;
  if (pieces.empty()) return places;
  PieceSearch search(pieces);
  TRY(search_records(log, search, places));
  std::vector<std::string> unaccounted;
  for (std::size_t index = 0; index < pieces.size(); ++index) {
    if (!search.found(index)) unaccounted.push_back(pieces[index]);
  }
  PieceSearch in_no_record(unaccounted);
  const ExcludedPaths of_service{data / "log", data / "projections"};
  for (const std::filesystem::path& each : of_service) {
    search_files(each, {}, in_no_record, places);
  }
  search_files(data, of_service, search, places);
  return places;
}

}  // namespace signalbox
