// Verifies an export as CloudEvents. Every line is rendered again from the record that it carries
// and compared; the record's leaf must be that in the file of digests, which the manifest signs.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "server/text/cloud_event.h"
#include "store/file_descriptor.h"
#include "store/redaction.h"
#include "tools/audit/audit_verify.h"
#include "tools/audit/ordered_work.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

// More than the line of the largest record with all of its bytes escaped.
constexpr std::size_t line_bytes_longest = 1024 * 1024;
constexpr std::size_t read_bytes = 256 * 1024;
constexpr std::size_t lines_at_once = 512;
// For one file: after a missing line, all following lines are wrong.
constexpr std::size_t findings_of_a_file_max = 4;

// Reads a file sequentially in blocks.
class BlockReader {
 public:
  explicit BlockReader(const fs::path& path) : file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (file_) ::posix_fadvise(file_.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
  }

  [[nodiscard]] bool open() const { return static_cast<bool>(file_); }

  // Appends the next block; returns false at the end.
  bool read_into(std::string& out, std::size_t bytes) {
    const std::size_t begin = out.size();
    out.resize(begin + bytes);
    ssize_t count = 0;
    do {
      count = ::read(file_.get(), out.data() + begin, bytes);
    } while (count < 0 && errno == EINTR);
    out.resize(begin + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    return count > 0;
  }

 private:
  FileDescriptor file_;
};

struct LineChunk {
  Position first = 0;
  std::uint64_t first_line = 0;
  std::string lines;    // whole lines
  std::string digests;  // record_digests_bytes for each line
  std::vector<Finding> findings;
  std::vector<std::string> adopted_keys;
  std::vector<std::string> redactions;  // frames for the RedactionLedger
};

// Checks the lines of a chunk; each thread has one.
class LineChecker {
 public:
  explicit LineChecker(std::string source) : source_(std::move(source)) {}

  void operator()(LineChunk& chunk) {
    chunk.findings.clear();
    chunk.adopted_keys.clear();
    chunk.redactions.clear();
    std::string_view lines = chunk.lines;
    for (std::size_t index = 0; !lines.empty(); ++index) {
      const std::string_view line = lines.substr(0, lines.find('\n') + 1);
      lines.remove_prefix(line.size());
      const std::string_view digests =
          std::string_view(chunk.digests)
              .substr(index * record_digests_bytes, record_digests_bytes);
      const Position position = chunk.first + index;
      std::string what = find_error(line, position, digests, chunk);
      if (!what.empty()) {
        chunk.findings.push_back({{}, chunk.first_line + index, position, std::move(what)});
      }
    }
  }

 private:
  static bool same(const Digest& digest, std::string_view bytes) {
    return std::memcmp(digest.bytes.data(), bytes.data(), digest.bytes.size()) == 0;
  }

  std::string find_error(std::string_view line, Position position, std::string_view digests,
                         LineChunk& chunk) {
    if (!carried_frame(line, frame_bytes_)) return "it doesn't carry a record";
    const auto frame = parse_frame(frame_bytes_);
    if (!frame) return frame.error().message;
    if (frame->position != position) {
      return "it has record " + std::to_string(frame->position) + ", not the one that follows";
    }
    const Digest leaf = leaf_hash(*frame, *sha256_);
    if (!same(leaf, digests.substr(0, sizeof(Digest))))
      return "its record isn't the one in the tree";
    if (RedactionLedger::concerns(*frame)) chunk.redactions.push_back(frame_bytes_);
    const auto decoded = decode_frame(*frame, record_);
    if (decoded) {
      if (const auto* adopted = event_as<AuditKeyAdopted>(record_.event)) {
        chunk.adopted_keys.push_back(adopted->verifier_key);
      }
      line_.clear();
      append_cloud_event(*frame, record_, leaf, source_, line_);
      if (line_ == line) return {};
    }
    if (!same(sha256_->update(line).finish(), digests.substr(sizeof(Digest)))) {
      return "it isn't what its record says";
    }
    // The line is the signed one. Its rendering may differ if another version of this program wrote
    // it.
    if (!decoded && decoded.error().kind == StoreError::Kind::unsupported) return {};
    if (!decoded) return decoded.error().message;
    if (shown_version(line) != tag_of(record_.event).version) return {};
    return "the signer wrote what its record doesn't say";
  }

  std::string source_;
  std::shared_ptr<Sha256> sha256_ = std::make_shared<Sha256>();
  std::string frame_bytes_, line_;
  Record record_;
};

class SegmentCheck {
 public:
  SegmentCheck(const fs::path& directory, const ExportSegment& segment, TreeCheck& tree,
               AuditFindings& findings, std::vector<std::string>& adopted_keys,
               RedactionLedger& redactions, OrderedWork<LineChunk>& work)
      : segment_(segment),
        tree_(tree),
        findings_(findings),
        adopted_keys_(adopted_keys),
        redactions_(redactions),
        work_(work),
        lines_(directory / segment.lines_name()),
        digests_(directory / segment.digests_name()) {}

  void run() {
    if (!digests_.open()) return add({segment_.digests_name(), 0, 0, "it is missing"});
    if (!lines_.open()) {
      cut_ = true;
      add({segment_.lines_name(), 0, 0, "it is missing"});
    }
    Position next = segment_.first;
    while (next <= segment_.last) {
      if (work_.full()) take_oldest();
      LineChunk& chunk = work_.next();
      const std::size_t count =
          std::min<std::size_t>(lines_at_once, static_cast<std::size_t>(segment_.last + 1 - next));
      if (!read_digests(chunk, count)) {
        add({segment_.digests_name(), 0, next, "it is cut short"});
        break;
      }
      chunk.first = next;
      chunk.first_line = next + 1 - segment_.first;
      next += count;
      const std::size_t taken = read_lines(count, chunk.lines);
      if (taken < count && !cut_) {
        cut_ = true;
        add({segment_.lines_name(), chunk.first_line + taken, chunk.first + taken,
             "lines are missing from here on, or longer than any record's"});
      }
      work_.put();
    }
    while (!work_.empty()) take_oldest();
    check_ends();
  }

 private:
  void add(Finding finding) {
    if (++found_ <= findings_of_a_file_max) findings_.add(std::move(finding));
  }

  bool read_digests(LineChunk& chunk, std::size_t count) {
    const std::size_t bytes = count * record_digests_bytes;
    chunk.digests.clear();
    while (chunk.digests.size() < bytes &&
           digests_.read_into(chunk.digests, bytes - chunk.digests.size())) {
    }
    if (chunk.digests.size() < bytes) return false;
    sha256_.update(chunk.digests);
    for (std::size_t at = 0; at < bytes; at += record_digests_bytes) {
      Digest leaf;
      std::memcpy(leaf.bytes.data(), chunk.digests.data() + at, leaf.bytes.size());
      tree_.add(leaf);
    }
    return true;
  }

  // Reads up to `count` whole lines into `out`. Returns their number.
  std::size_t read_lines(std::size_t count, std::string& out) {
    out.clear();
    if (cut_) return 0;
    std::size_t taken = 0;
    std::size_t end = 0;
    for (std::size_t from = 0; taken < count;) {
      const std::size_t found = buffer_.find('\n', at_ + from);
      if (found != std::string::npos) {
        end = from = found + 1 - at_;
        ++taken;
        continue;
      }
      from = buffer_.size() - at_;
      if (from - end > line_bytes_longest || !refill()) break;
    }
    out.assign(buffer_, at_, end);
    at_ += end;
    return taken;
  }

  bool refill() {
    buffer_.erase(0, at_);
    at_ = 0;
    return lines_.read_into(buffer_, read_bytes);
  }

  void take_oldest() {
    LineChunk& chunk = work_.oldest();
    for (Finding& finding : chunk.findings) {
      finding.file = segment_.lines_name();
      add(std::move(finding));
    }
    adopted_keys_.insert(adopted_keys_.end(), chunk.adopted_keys.begin(), chunk.adopted_keys.end());
    for (const std::string& each : chunk.redactions) {
      // A damaged frame was already reported with its line.
      if (const auto frame = parse_frame(each)) static_cast<void>(redactions_.note(*frame));
    }
    work_.drop_oldest();
  }

  void check_ends() {
    std::string more;
    if (digests_.read_into(more, 1))
      add({segment_.digests_name(), 0, 0, "it goes on past its end"});
    if (sha256_.finish() != segment_.digests_sha256) {
      add({segment_.digests_name(), 0, 0, "it isn't the one that the manifest signs"});
    }
    if (lines_.open() && !cut_ && (at_ < buffer_.size() || lines_.read_into(more, 1))) {
      add({segment_.lines_name(), segment_.last + 2 - segment_.first, 0,
           "there are more lines than records"});
    }
  }

  const ExportSegment& segment_;
  TreeCheck& tree_;
  AuditFindings& findings_;
  std::vector<std::string>& adopted_keys_;
  RedactionLedger& redactions_;
  OrderedWork<LineChunk>& work_;
  BlockReader lines_;
  BlockReader digests_;
  Sha256 sha256_;
  std::string buffer_;
  std::size_t at_ = 0;  // bytes of the buffer that were consumed
  bool cut_ = false;
  std::size_t found_ = 0;
};

}  // namespace

void verify_cloud_events(const fs::path& directory, const ExportManifest& manifest, TreeCheck& tree,
                         AuditFindings& findings, Verified& verified) {
  OrderedWork<LineChunk> work(
      [&manifest]() -> OrderedWork<LineChunk>::Worker { return LineChecker(manifest.origin); });
  for (const ExportSegment& segment : manifest.segments) {
    SegmentCheck(directory, segment, tree, findings, verified.adopted_keys, verified.redactions,
                 work)
        .run();
  }
  auto wrong = verified.redactions.check_copies();
  for (const Position position : manifest.redacted_here) {
    wrong.erase(position);
    if (verified.redactions.redacted_at(position)) continue;
    wrong.emplace(position, "the manifest says that texts of it were erased, and it is whole");
  }
  for (const auto& [position, what] : wrong) {
    for (const ExportSegment& segment : manifest.segments) {
      if (position < segment.first || position > segment.last) continue;
      findings.add({segment.lines_name(), position + 1 - segment.first, position, what});
    }
  }
}

}  // namespace signalbox
