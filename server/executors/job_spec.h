// What a shim is told to run: spec.json. No environment value is in it; the command inherits the
// shim's own environment.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <boost/describe/class.hpp>

#include "store/store_error.h"

namespace signalbox {

struct JobSpec {
  std::string schema = "job_spec.v1";
  std::vector<std::string> argv;  // the program is looked up in the job's PATH
  std::string cwd;                // absolute
  std::int64_t timeout_ms = 0;
  std::int64_t cancel_grace_ms = 0;  // between TERM and KILL
};
BOOST_DESCRIBE_STRUCT(JobSpec, (), (schema, argv, cwd, timeout_ms, cancel_grace_ms))

Stored<void> write_job_spec(const std::filesystem::path& path, const JobSpec& spec);
Stored<JobSpec> read_job_spec(const std::filesystem::path& path);

}  // namespace signalbox
