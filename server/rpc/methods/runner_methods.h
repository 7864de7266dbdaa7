// What people see of runners and decide about them, for the table of `runner.*`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include <boost/describe/class.hpp>

#include "domain/error.h"
#include "server/rpc/method.h"
#include "store/store_error.h"

namespace signalbox {

struct RunnerParts;

struct NamedRunner {
  std::string runner;
};
BOOST_DESCRIBE_STRUCT(NamedRunner, (), (runner))

struct SendOutput {
  std::string runner;
  std::string key;
  std::string job_id;
  std::string stream;
  std::uint64_t offset = 0;
  std::string content;  // base64
  bool is_newest = false;
};
BOOST_DESCRIBE_STRUCT(SendOutput, (), (runner, key, job_id, stream, offset, content, is_newest))

struct UploadArtifact {
  std::string runner;
  std::string key;
  std::string sha256;
  std::int64_t bytes = 0;
  std::int64_t offset = 0;
  std::string content;  // base64
  bool wants_url = false;
  std::optional<std::string> job_id;  // whose artifact it is; earlier runners don't say
};
BOOST_DESCRIBE_STRUCT(UploadArtifact, (),
                      (runner, key, sha256, bytes, offset, content, wants_url, job_id))

// FORBIDDEN unless the key is that of the runner.
Decided<void> require_key(const RunnerParts& parts, const std::string& runner,
                          const std::string& key);
// Returns INVALID_PARAMS: the field `why`, such as "must be base64".
inline tl::unexpected<Rejection> invalid(const char* field, const std::string& why) {
  return reject(ErrorCode::INVALID_PARAMS, std::string(field) + " " + why,
                {{"field", std::string(field)}});
}

// Takes a piece of an artifact, or gives the URL by which the whole gets into the store.
void take_runner_upload(Api& api, Call& call, RunnerParts& parts);
// Keeps a piece of what a job has printed where the output of the service's own jobs is.
void take_runner_output(Api& api, Call& call, RunnerParts& parts);
// Makes the output of a job that has ended durable, also of one that has printed nothing. Blocks.
Stored<void> keep_runner_output(const std::filesystem::path& jobs, const std::string& job_id);

void list_runners(Api& api, Call& call, RunnerParts& parts);
void get_runner(Api& api, Call& call, RunnerParts& parts);
void drain_runner(Api& api, Call& call, RunnerParts& parts);
void evict_runner(Api& api, Call& call, RunnerParts& parts);

}  // namespace signalbox
