#include <algorithm>
#include <cerrno>
#include <fstream>
#include <istream>
#include <system_error>

#include <boost/json/parse.hpp>

#include "domain/limits.h"
#include "domain/try.h"
#include "server/text/cloud_event.h"
#include "store/base64.h"
#include "store/codec.h"
#include "store/merkle_proof.h"
#include "store/redaction.h"
#include "store/sha256.h"
#include "tools/audit/run_capsule.h"
#include "tools/cli/json_fields.h"

namespace signalbox {
namespace {

namespace json = boost::json;

// The longest line has an artifact in base64.
constexpr std::size_t capsule_line_bytes_max = limits::artifact_bytes_max / 3 * 4 + 256 * 1024;

// Reads a line as std::getline() does, but fails at one that is longer than any of a capsule.
std::istream& read_capsule_line(std::istream& stream, std::string& line) {
  line.clear();
  for (;;) {
    const int next = stream.get();
    if (next == std::istream::traits_type::eof()) {
      if (stream.eof() && !line.empty()) stream.clear(std::ios::eofbit);
      return stream;
    }
    if (next == '\n') return stream;
    if (line.size() == capsule_line_bytes_max) {
      stream.setstate(std::ios::failbit);
      return stream;
    }
    line.push_back(static_cast<char>(next));
  }
}

struct ProvenLeaf {
  std::uint64_t line = 0;
  Position position = 0;
  Digest leaf;
  std::vector<Digest> proof;
};

// Returns the text of a note without checking its signatures.
std::string text_of_note(const std::string& note) {
  return note.substr(0, std::min(note.rfind("\n\n"), note.size() - 1) + 1);
}

class CapsuleReader {
 public:
  CapsuleReader(const std::filesystem::path& file,
                const std::function<Called<void>(const CapsuleArtifact&)>& take)
      : name_(file.string()), take_(take) {}

  Called<void> line(const std::string& text, std::uint64_t number) {
    number_ = number;
    sha256_.update(text).update("\n");
    json::error_code failed;
    const json::value value = json::parse(text, failed);
    if (failed || !value.is_object()) {
      add_finding("it isn't JSON");
      return {};
    }
    const json::object& object = value.get_object();
    if (number == 1) {
      read_first(object);
    } else if (object.contains("proof")) {
      read_record(object, text);
    } else if (object.contains("artifact")) {
      return read_artifact(object);
    } else {
      add_finding("it is neither a record nor an artifact");
    }
    return {};
  }

  // Reads the last line, with the signed notes, and checks the lines before it against them.
  void end(const std::string& text, std::uint64_t number,
           const std::vector<NoteVerifier>& trusted) {
    number_ = number;
    json::error_code failed;
    const json::value value = json::parse(text, failed);
    const json::object* object = failed ? nullptr : value.if_object();
    const std::string checkpoint = object == nullptr ? "" : text_at(*object, "checkpoint");
    const std::string manifest = object == nullptr ? "" : text_at(*object, "manifest");
    if (checkpoint.empty() || manifest.empty() || object->size() != 2) {
      return add_finding("the capsule is cut short: its last line isn't the signed one");
    }
    std::string signed_text = text_of_note(manifest);
    if (trusted.empty()) {
      const auto head = parse_tree_head(text_of_note(checkpoint));
      if (!head) return add_finding("its checkpoint isn't one");
      capsule.head = *head;
    } else {
      const auto head = open_tree_head(checkpoint, trusted);
      if (!head) return add_finding("its checkpoint: " + head.error().message);
      capsule.head = *head;
      const auto opened = open_note(manifest, trusted);
      if (!opened) return add_finding("its manifest: " + opened.error().message);
      signed_text = opened->text;
      capsule.signature_checked = true;
    }
    if (signed_text !=
        capsule_note_text(capsule.head, capsule.run_id, leaves_.size(), sha256_.finish())) {
      add_finding("the lines before it aren't those that it signs");
    }
    if (origin_ != capsule.head.origin || size_ != capsule.head.size) {
      add_finding("it is of another log than the first line says");
    }
    check_proofs();
    check_pipeline();
    if (auto fits = redactions_.check_log(); !fits) {
      findings.add({name_, 0, fits.error().position, fits.error().message});
    }
  }

  Capsule capsule;
  AuditFindings findings;

 private:
  void add_finding(std::string what, Position position = 0) {
    findings.add({name_, number_, position, std::move(what)});
  }

  void read_first(const json::object& object) {
    origin_ = text_at(object, "origin");
    size_ = number_at(object, "size");
    const auto run_id = parse_uuid(text_at(object, "run_id"));
    const auto bytes = from_base64(text_at(object, "pipeline"));
    if (!run_id || !bytes) return add_finding("it doesn't say which run it is");
    capsule.run_id = *run_id;
    pipeline_digest_ = sha256(*bytes);
    auto pipeline = decode_pipeline(*bytes);
    if (!pipeline) return add_finding("its pipeline isn't one");
    capsule.pipeline = *std::move(pipeline);
  }

  void read_record(const json::object& object, const std::string& text) {
    ProvenLeaf proven{number_, 0, {}, {}};
    for (const json::value& each : array_at(object, "proof")) {
      const auto hash = each.is_string() ? from_base64(each.get_string()) : std::nullopt;
      if (!hash || hash->size() != sizeof(Digest)) return add_finding("its proof isn't one");
      std::copy(hash->begin(), hash->end(), proven.proof.emplace_back().bytes.begin());
    }
    std::string frame_bytes;
    if (!carried_frame(text, frame_bytes)) return add_finding("it doesn't carry a record");
    const auto frame = parse_frame(frame_bytes);
    if (!frame) return add_finding(frame.error().message);
    Record record;
    if (auto decoded = decode_frame(*frame, record); !decoded)
      return add_finding(decoded.error().message);
    Sha256 hashing;
    proven.position = record.position;
    proven.leaf = leaf_hash(*frame, hashing);
    std::string line;
    append_cloud_event(*frame, record, proven.leaf, origin_, line);
    line.back() = '}';  // the end of the enclosing object
    // Another version of this program may render an event differently; then only the signature
    // counts.
    if (!text.ends_with(line) && shown_version(text) == tag_of(record.event).version) {
      add_finding("it isn't what its record says", record.position);
    }
    if (!leaves_.empty() && leaves_.back().position >= record.position) {
      add_finding("it isn't in order", record.position);
    }
    if (auto noted = redactions_.note(*frame); !noted)
      add_finding(noted.error().message, record.position);
    leaves_.push_back(std::move(proven));
    const auto* redacted = event_as<PayloadRedacted>(record.event);
    if (redacted != nullptr && has_record(redacted->redacted_position)) return;
    if (record.stream != Stream::run(capsule.run_id))
      add_finding("it is of another run", record.position);
    capsule.records.push_back(std::move(record));
  }

  // Returns whether the capsule has a record of this position so far.
  [[nodiscard]] bool has_record(Position position) const {
    return std::any_of(leaves_.begin(), leaves_.end(),
                       [position](const ProvenLeaf& each) { return each.position == position; });
  }

  Called<void> read_artifact(const json::object& object) {
    CapsuleArtifact artifact;
    const auto digest = parse_digest(text_at(object, "artifact"));
    auto content = from_base64(text_at(object, "content"));
    if (!digest || !content || sha256(*content) != *digest) {
      add_finding("the artifact isn't the one of its digest");
      return {};
    }
    ++capsule.artifacts;
    artifact.sha256 = *digest;
    artifact.content = *std::move(content);
    return take_ ? take_(artifact) : Called<void>();
  }

  void check_proofs() {
    Sha256 hashing;
    for (const ProvenLeaf& each : leaves_) {
      if (proves_inclusion(each.leaf, each.position - 1, capsule.head.size, each.proof,
                           capsule.head.root, hashing)) {
        continue;
      }
      findings.add(
          {name_, each.line, each.position, "it isn't in the tree that the checkpoint signs"});
    }
  }

  void check_pipeline() {
    const auto* started =
        capsule.records.empty() ? nullptr : event_as<RunStarted>(capsule.records.front().event);
    if (started == nullptr) return findings.add({name_, 2, 0, "it doesn't begin with its start"});
    if (pipeline_digest_ != started->pipeline_digest) {
      findings.add({name_, 1, 0, "its pipeline isn't the one that the run pinned"});
    }
    if (capsule.pipeline.stations.empty()) {
      findings.add({name_, 1, 0, "its pipeline has no stations, so no run can have it"});
    }
  }

  std::string name_;
  const std::function<Called<void>(const CapsuleArtifact&)>& take_;
  std::uint64_t number_ = 0;
  Sha256 sha256_;
  std::string origin_;
  std::uint64_t size_ = 0;
  Digest pipeline_digest_;
  std::vector<ProvenLeaf> leaves_;
  RedactionLedger redactions_;
};

}  // namespace

Called<Capsule> read_capsule(const std::filesystem::path& file,
                             const std::vector<NoteVerifier>& trusted,
                             const std::function<Called<void>(const CapsuleArtifact&)>& take) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) {
    return tl::unexpected(
        usage_error("can't open " + file.string() + ": " + std::generic_category().message(errno)));
  }
  std::string last;
  if (!read_capsule_line(stream, last) || !last.starts_with(capsule_beginning)) {
    return tl::unexpected(usage_error(file.string() + " is not the capsule of a run"));
  }
  CapsuleReader reader(file, take);
  std::uint64_t number = 1;
  for (std::string next; read_capsule_line(stream, next); ++number) {
    TRY(reader.line(last, number));
    std::swap(last, next);
  }
  if (!stream.eof()) {
    reader.findings.add({file.string(), number + 1, 0, "it is longer than any line of a capsule"});
    return tl::unexpected(reader.findings.error());
  }
  const bool ended = !last.empty();
  stream.clear();
  stream.seekg(-1, std::ios::end);
  if (!ended || stream.get() != '\n') {
    reader.findings.add({file.string(), number, 0, "the capsule is cut short"});
  } else {
    reader.end(last, number, trusted);
  }
  if (!reader.findings.empty()) return tl::unexpected(reader.findings.error());
  return std::move(reader.capsule);
}

}  // namespace signalbox
