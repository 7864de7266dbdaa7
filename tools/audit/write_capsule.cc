#include "domain/try.h"
#include "tools/audit/run_capsule.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "projections/memory_table.h"
#include "projections/run_index.h"
#include "server/platform/artifact_settings.h"
#include "server/platform/attempt_bundle.h"
#include "server/text/cloud_event.h"
#include "server/text/described_text.h"
#include "store/base64.h"
#include "store/codec.h"
#include "store/merkle_proof.h"
#include "store/redaction.h"
#include "tools/audit/export_directory.h"
#include "tools/audit/leaf_scan.h"

namespace signalbox {
namespace {

// A record for the capsule, found by the scan.
struct FoundRecord {
  std::uint64_t index = 0;
  std::string event;  // the line, without its break
};

// The result of one pass over the log.
struct RunGathering {
  SparseTree tree;
  std::vector<FoundRecord> found;
  std::vector<Record> records;
  std::map<Digest, PipelineDefinition> pipelines;  // stored up to the run's last record
};

// Renders the lines of the run's records and of every redaction; nothing for other records.
RenderLeaf run_renderer(const RunId& run_id, const std::string& origin) {
  return [run_id, origin, record = Record()](const Frame& frame, const Digest& leaf,
                                             LeafChunk& chunk) mutable -> Stored<void> {
    const std::string_view wanted = raw_bytes(run_id);
    const bool of_run = frame.stream == StreamKind::run && frame.run_id == wanted;
    if (!of_run && frame.number != PayloadRedacted::tag.number) return {};
    TRY(decode_frame(frame, record));
    append_cloud_event(frame, record, leaf, origin, chunk.text);
    return {};
  };
}

// Returns the positions of redactions in the chunk that concern none of the records found so far.
std::set<Position> redactions_of_others(const LeafChunk& chunk,
                                        const std::vector<FoundRecord>& found) {
  std::set<Position> others;
  for (const std::string& bytes : chunk.redactions) {
    const auto frame = parse_frame(bytes);
    Record record;
    if (!frame || !decode_frame(*frame, record)) continue;
    const auto* event = event_as<PayloadRedacted>(record.event);
    if (event == nullptr) continue;
    const auto is_it = [event](const FoundRecord& each) {
      return each.index + 1 == event->redacted_position;
    };
    if (std::none_of(found.begin(), found.end(), is_it)) others.insert(record.position);
  }
  return others;
}

// Adds the run's records that were kept before the horizon.
Called<void> gather_kept(const AuditLog& log, const CapsuleRequest& request,
                         const std::string& origin, RunGathering& gathering) {
  const RenderLeaf render = run_renderer(request.run_id, origin);
  Sha256 sha256;
  Stored<void> rendered;
  for (const PositionRange& range : log.log->horizon().kept) {
    auto read = log.log->scan_frames(range.first, range.last, [&](const Frame& frame) {
      LeafChunk chunk;
      rendered = render(frame, leaf_hash(frame, sha256), chunk);
      if (RedactionLedger::concerns(frame)) append_frame(frame, chunk.redactions.emplace_back());
      const bool of_others = !chunk.redactions.empty() &&
                             redactions_of_others(chunk, gathering.found).contains(frame.position);
      if (!chunk.text.empty() && !of_others) {
        gathering.found.push_back(
            {frame.position - 1, chunk.text.substr(0, chunk.text.size() - 1)});
      }
      return rendered.has_value();
    });
    if (!read) return tl::unexpected(from_store_error(read.error()));
    if (!rendered) return tl::unexpected(from_store_error(rendered.error()));
  }
  return {};
}

// Adds the run's pipeline from the log's base, if the run with which it was stored was dropped.
Stored<void> add_pipeline_of_base(const AuditLog& log, RunGathering& gathering) {
  if (gathering.records.empty()) return {};
  const auto* started = event_as<RunStarted>(gathering.records.front().event);
  if (started == nullptr || gathering.pipelines.contains(started->pipeline_digest)) return {};
  MemoryTable table;
  RunIndex index(table);
  TRY(index.begin(*log.log));
  auto pipeline = TRY(index.find_pipeline(started->pipeline_digest));
  if (pipeline) gathering.pipelines.insert_or_assign(started->pipeline_digest, *pipeline);
  return {};
}

Called<RunGathering> gather_run(const AuditLog& log, const CapsuleRequest& request,
                                const std::string& origin) {
  RunGathering gathering;
  Sha256 sha256;
  LeafScan scan;
  scan.to = log.tail();
  scan.make_renderer = [&] { return run_renderer(request.run_id, origin); };
  scan.take_group = [&](const LeafGroup& group) {
    if (group.is_root) return gathering.tree.add_tile(group.hashes.front());
    for (const Digest& leaf : group.hashes) gathering.tree.add(leaf, true, sha256);
  };
  TRY(gather_kept(log, request, origin, gathering));
  scan.take = [&](LeafChunk& chunk, const MerkleFrontier&) -> Called<void> {
    std::size_t begin = 0;
    for (std::size_t index = 0; index < chunk.leaves.size(); ++index) {
      const std::size_t end = chunk.text_ends[index];
      const bool wanted =
          end > begin &&
          (chunk.redactions.empty() ||
           !redactions_of_others(chunk, gathering.found).contains(gathering.tree.leaves() + 1));
      if (wanted) {
        gathering.found.push_back(
            {gathering.tree.leaves(), chunk.text.substr(begin, end - 1 - begin)});
      }
      begin = end;
      gathering.tree.add(chunk.leaves[index], wanted, sha256);
    }
    return {};
  };
  TRY(scan_leaves(log, scan));
  if (gathering.found.empty()) {
    const std::string id = to_string(request.run_id);
    return tl::unexpected(from_rejection({ErrorCode::RUN_NOT_FOUND,
                                          "the log has no run " + id,
                                          {{"run_id", id}},
                                          {"signalbox run list"}}));
  }
  const auto fold = [&](Record&& record) {
    if (record.stream == Stream::run(request.run_id)) gathering.records.push_back(record);
    if (const auto* started = event_as<RunStarted>(record.event); started && started->pipeline) {
      gathering.pipelines.insert_or_assign(started->pipeline_digest, *started->pipeline);
    }
    return true;
  };
  // The run's pipeline may be stored with any earlier run.
  const Position last = gathering.found.back().index + 1;
  const Horizon horizon = log.log->horizon();
  Stored<Position> scanned = 0;
  for (const PositionRange& range : horizon.kept) {
    if (scanned) scanned = log.log->scan(range.first, range.last, fold);
  }
  if (scanned) scanned = log.log->scan(horizon.position + 1, last, fold);
  if (!scanned) return tl::unexpected(from_store_error(scanned.error()));
  TRY(called(add_pipeline_of_base(log, gathering)));
  return gathering;
}

class CapsuleWriter {
 public:
  explicit CapsuleWriter(ExportFile file) : file_(std::move(file)) {}

  Called<void> line(const std::string& text) {
    sha256_.update(text);
    return file_.write(text);
  }
  Called<void> last_line(const std::string& text) { return file_.write(text); }
  Digest lines() { return sha256_.finish(); }

 private:
  ExportFile file_;
  Sha256 sha256_;
};

// Where each artifact may be, by its digest: several attempts may have left it.
using ArtifactPlaces = std::map<Digest, std::vector<ArtifactPlace>>;

// Adds the places of an event's artifacts. A bundle isn't one: its members are there. What only
// says that it is a bundle has none.
void add_places(const std::vector<Artifact>& artifacts, ArtifactPlaces& places) {
  bool is_bundled = false;
  for (const Artifact& artifact : artifacts) {
    if (is_bundle(artifact)) continue;
    const ArtifactPlace place = place_of(artifacts, artifact);
    is_bundled = is_bundled || place.part;
    places[artifact.sha256].push_back(place);
  }
  bool is_first = true;
  for (const Artifact& artifact : artifacts) {
    if (!is_bundle(artifact)) continue;
    if (std::exchange(is_first, false) && is_bundled) continue;
    places[artifact.sha256].push_back(place_of(artifacts, artifact));
  }
}

ArtifactPlaces artifacts_of(const std::vector<Record>& records) {
  ArtifactPlaces places;
  for (const Record& record : records) {
    apply(
        [&places](const auto& event) {
          if constexpr (requires { event.result.artifacts; }) {
            add_places(event.result.artifacts, places);
          }
        },
        record.event);
  }
  return places;
}

// Returns the content from the first place that has it. Else the error is the one of most weight:
// a store that is away may have it, and what is damaged isn't missing.
Stored<std::string> content_at(const ArtifactStore& store,
                               const std::vector<ArtifactPlace>& places) {
  Stored<std::string> result = store_failure(StoreError::Kind::not_found, "it isn't stored");
  for (const ArtifactPlace& place : places) {
    auto content = store.get_at(place);
    if (content) return content;
    const auto kind = content.error().kind;
    if (kind == StoreError::Kind::not_found) continue;
    const auto so_far = result.error().kind;
    if (so_far == StoreError::Kind::not_found || so_far == StoreError::Kind::damaged) {
      result = std::move(content);
    }
  }
  return result;
}

// `pipeline` is the payload encoding of the one that the run pinned.
std::string first_line(const TreeHead& head, const RunId& run_id, const std::string& pipeline) {
  return std::string(capsule_beginning) + "\"origin\":\"" + head.origin + "\",\"run_id\":\"" +
         to_string(run_id) + "\",\"size\":" + std::to_string(head.size) + ",\"pipeline\":\"" +
         to_base64(pipeline) + "\"}\n";
}

std::string record_line(const FoundRecord& found, const SparseTree& tree, Sha256& sha256) {
  std::string line = "{\"proof\":[";
  const auto proof = tree.proof(found.index, sha256);
  for (std::size_t step = 0; step < proof.size(); ++step) {
    line += step == 0 ? "\"" : ",\"";
    append_base64(line, raw_bytes(proof[step]));
    line += "\"";
  }
  return line + "],\"event\":" + found.event + "}\n";
}

Called<void> write_lines(const CapsuleRequest& request, const RunGathering& gathering,
                         CapsuleWriter& writer, CapsuleWritten& written) {
  Sha256 sha256;
  const TreeHead head{request.signers.front().verifier().name, gathering.tree.leaves(),
                      gathering.tree.root(sha256)};
  const auto* started = event_as<RunStarted>(gathering.records.front().event);
  const auto pipeline = started == nullptr ? gathering.pipelines.end()
                                           : gathering.pipelines.find(started->pipeline_digest);
  if (pipeline == gathering.pipelines.end()) {
    return tl::unexpected(io_error("the log doesn't hold the pipeline of the run"));
  }
  auto put = writer.line(
      first_line(head, request.run_id, encode_pipeline(pipeline->second, pipeline->first)));
  for (const FoundRecord& found : gathering.found) {
    if (put) put = writer.line(record_line(found, gathering.tree, sha256));
  }
  const auto store = open_artifacts(request.data);
  for (const auto& [digest, places] : artifacts_of(gathering.records)) {
    if (!put || !request.with_artifacts) break;
    const auto content = content_at(*store, places);
    if (!content && content.error().kind == StoreError::Kind::not_found) {
      written.missing_artifacts.push_back(to_hex(digest));
      continue;
    }
    if (!content && content.error().kind == StoreError::Kind::damaged) {
      written.damaged_artifacts.push_back(to_hex(digest));
      continue;
    }
    if (!content) return tl::unexpected(from_store_error(content.error()));
    ++written.artifacts;
    put = writer.line("{\"artifact\":\"" + to_hex(digest) + "\",\"content\":\"" +
                      to_base64(*content) + "\"}\n");
  }
  if (!put) return put;
  written.records = gathering.found.size();
  std::string last = "{\"checkpoint\":";
  append_json_string(last, sign_note(tree_head_text(head), request.signers));
  last += ",\"manifest\":";
  append_json_string(
      last, sign_note(capsule_note_text(head, request.run_id, written.records, writer.lines()),
                      request.signers));
  return writer.last_line(last + "}\n");
}

}  // namespace

std::string capsule_note_text(const TreeHead& head, const RunId& run_id, std::uint64_t records,
                              const Digest& lines) {
  const auto base64 = [](const Digest& digest) { return to_base64(raw_bytes(digest)); };
  return "signalbox run capsule 1\norigin " + head.origin + "\nrun " + to_string(run_id) +
         "\nsize " + std::to_string(head.size) + "\nroot " + base64(head.root) + "\nrecords " +
         std::to_string(records) + "\nlines " + base64(lines) + "\n";
}

Called<CapsuleWritten> write_capsule(const CapsuleRequest& request) {
  const auto log = TRY(open_audit_log(request.data));
  const auto gathering = TRY(gather_run(log, request, request.signers.front().verifier().name));
  const std::filesystem::path part = request.file.string() + ".part";
  auto file = TRY(ExportFile::create(part));
  CapsuleWritten written;
  std::error_code ignored;
  {
    CapsuleWriter writer(std::move(file));
    if (auto done = write_lines(request, gathering, writer, written); !done) {
      std::filesystem::remove(part, ignored);
      return tl::unexpected(done.error());
    }
  }
  TRY(place_file(part, request.file));
  return written;
}

}  // namespace signalbox
