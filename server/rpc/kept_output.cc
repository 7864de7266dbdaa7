#include "server/rpc/kept_output.h"

#include <utility>

#include "server/executors/bounded_log.h"
#include "server/executors/job_directory.h"

namespace signalbox {

OutputReader output_reader(const std::filesystem::path& data) {
  return
      [jobs = data / "jobs"](const std::string& job_id, std::string_view stream, std::uint64_t from,
                             std::size_t bytes) -> std::optional<OutputPart> {
        const JobDirectory job{jobs / job_id};
        auto part =
            read_log_range(stream == "stderr" ? job.stderr_log() : job.stdout_log(), from, bytes);
        if (!part) return std::nullopt;
        const bool is_whole = part->end <= log_head_bytes + log_ring_bytes;
        return OutputPart{part->offset, part->end, is_whole, std::move(part->bytes)};
      };
}

}  // namespace signalbox
