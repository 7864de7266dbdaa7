// The secrets by which clients prove who they are: those of access tokens, and those of jobs.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "domain/ids.h"
#include "store/random_source.h"
#include "store/store_error.h"

namespace signalbox {

// Returns "sbx_" and 256 random bits in hexadecimal. The prefix lets secret scanners find leaks.
std::string make_secret(const RandomSource& random);

// Returns the SHA-256 of a secret. domain/access_events.h says why no slower hash is needed.
Digest digest_of_secret(std::string_view secret);

// Returns the key of jobs' secrets in `<data>/jobs.key`; creates the file, for its owner alone, if
// there is none.
Stored<std::string> load_job_key(const std::filesystem::path& data, const RandomSource& random);

// Returns the secret that a job gets in its environment: "sbj_", 64 hexadecimal digits, "_" and the
// job's id. The digits are an HMAC of the id under the key of this data directory. So nothing about
// the secret has to be stored, it outlives a restart of the server, and it is worthless as soon as
// the job's attempt isn't the one under way.
std::string make_job_secret(const std::string& key, std::string_view job_id);
// Returns true if `secret` has the form of a job's secret, whether genuine or not.
bool is_job_secret(std::string_view secret);
// Returns the id of the job that `secret` was made for with `key`; nullopt for any other text.
std::optional<std::string> job_of_secret(const std::string& key, std::string_view secret);

// Returns the key with which a runner proves that it is the one of this id (placement.h): "sbk_"
// and an HMAC of the id. So a runner that was registered once is known as long as the data
// directory's key is, and nothing about it has to be stored.
std::string make_runner_key(const std::string& key, std::string_view runner_id);
// Returns whether `given` is that key. Takes the same time for any text of its length.
bool is_runner_key(const std::string& key, std::string_view runner_id, std::string_view given);

// The parts of a job's id, "RUN-STATION-ATTEMPT".
struct JobName {
  std::string run_id;
  std::string station;
  std::string attempt;
};
std::optional<JobName> parse_job_id(std::string_view job_id);
// Returns "job:RUN/STATION/ATTEMPT".
std::string actor_of_job(std::string_view job_id);

}  // namespace signalbox
