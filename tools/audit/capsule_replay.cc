#include "tools/audit/capsule_replay.h"

#include "domain/try.h"
#include "projections/run_row.h"
#include "projections/timeline.h"
#include "server/rpc/methods/timeline_json.h"
#include "store/durable_file.h"
#include "tools/audit/audit_keys.h"
#include "tools/cli/elapsed_text.h"
#include "tools/cli/json_fields.h"
#include "tools/views/run_view.h"

namespace signalbox {
namespace {

namespace json = boost::json;

Called<void> write_artifact(const std::filesystem::path& directory,
                            const CapsuleArtifact& artifact) {
  TRY(called(replace_file(directory / to_hex(artifact.sha256), artifact.content)));
  return {};
}

}  // namespace

Called<json::object> capsule_run(const Capsule& capsule, const std::string& artifacts_to) {
  const Record& first = capsule.records.front();
  RunRow row = row_of(first, *event_as<RunStarted>(first.event), capsule.pipeline);
  for (const Record& record : capsule.records) {
    if (record.position == first.position) continue;
    TRY(called(apply(row, record)));
  }
  const RunTimeline timeline = fold_timeline(capsule.records, capsule.pipeline);
  return timeline_to_json(row, timeline, timeline.started.run_root, [&](ArtifactPlace& place) {
    // A capsule has each content by itself, and no bundle.
    place.part.reset();
    if (artifacts_to.empty()) return std::string();
    const auto path = std::filesystem::path(artifacts_to) / to_hex(place.sha256);
    std::error_code unknown;
    return std::filesystem::exists(path, unknown) ? path.string() : std::string();
  });
}

void add_capsule_options(ToolCommand command, CapsuleReplay& options) {
  command.add_option("CAPSULE", options.file,
                     "A run's capsule (`signalbox run export`) instead of a log");
  command
      .add_option("--key", options.keys,
                  "With a capsule: a trusted verifier key, or @FILE; repeatable")
      .type_name("KEY")
      .repeatable();
  command
      .add_option("--artifacts-to", options.artifacts_to,
                  "With a capsule: write its artifacts into this directory, named by digest")
      .type_name("DIR");
}

Called<json::object> replay_capsule(const CapsuleReplay& options) {
  const auto trusted = TRY(read_verifiers(options.keys));
  std::function<Called<void>(const CapsuleArtifact&)> take;
  if (!options.artifacts_to.empty()) {
    std::error_code failed;
    std::filesystem::create_directories(options.artifacts_to, failed);
    if (failed) return tl::unexpected(io_error("can't create " + options.artifacts_to));
    take = [&options](const CapsuleArtifact& artifact) {
      return write_artifact(options.artifacts_to, artifact);
    };
  }
  const auto capsule = TRY(read_capsule(options.file, trusted, take));
  auto run = capsule_run(capsule, options.artifacts_to);
  if (!run) return run;
  return json::object{{"origin", capsule.head.origin},
                      {"size", capsule.head.size},
                      {"records", capsule.records.size()},
                      {"artifacts", capsule.artifacts},
                      {"signature_checked", capsule.signature_checked},
                      {"run", *std::move(run)}};
}

std::string view_capsule(const json::object& result, const Terminal& terminal) {
  std::string text = view_run(result, terminal, wall_clock_ns());
  text += "\n" + text_at(result, "records") + " records, each proven to be in " +
          text_at(result, "origin") + " as of its record " + text_at(result, "size") + "\n";
  if (!true_at(result, "signature_checked")) {
    text += "Nobody vouches for that yet: name the key that is trusted (--key)\n";
  }
  return text;
}

}  // namespace signalbox
