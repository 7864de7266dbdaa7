#include "tools/runner/runner_work.h"

#include <chrono>
#include <system_error>

#include <sys/stat.h>

#include "domain/try.h"
#include "server/access/secret.h"
#include "server/executors/job_directory.h"
#include "server/git/tree_removal.h"
#include "server/platform/stored_json.h"
#include "store/directory_listing.h"
#include "store/durable_file.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

// How long a job that was forgotten is remembered, with its directory: for people who look into it,
// and for a service whose log was set back.
constexpr std::chrono::hours ended_kept{7 * 24};

struct TakenOrder {
  std::string schema = "runner_order.v1";
  RunnerOrder order;
};
BOOST_DESCRIBE_STRUCT(TakenOrder, (), (schema, order))

// Reads an order that was taken. One of a newer version may have fields that change what is
// executed, so its job is followed if it was begun, and never begun here.
Stored<RunnerOrder> read_order(const fs::path& file, const fs::path& jobs) {
  auto taken = read_stored_json<TakenOrder>(file);
  if (!taken && taken.error().kind == StoreError::Kind::damaged) {
    auto newer = TRY(read_stored_json<TakenOrder>(file, UnknownFields::left_out));
    const JobDirectory job{jobs / file.stem()};
    if (TRY(job.state()) == JobState::absent) {
      return store_failure(StoreError::Kind::unsupported,
                           file.string() +
                               ": a newer version of signalbox took this job and hasn't begun it: "
                               "start that version until the job has ended",
                           file.string());
    }
    return std::move(newer.order);
  }
  if (!taken) return tl::unexpected(taken.error());
  return std::move(taken->order);
}

// A job's id becomes the name of a file.
bool is_file_name(const std::string& job_id) {
  return !job_id.empty() && job_id.size() <= 200 && job_id.front() != '.' &&
         job_id.find('/') == std::string::npos && job_id.find('\0') == std::string::npos;
}

Called<std::int64_t> inode_of(const fs::path& directory) {
  struct stat found {};
  if (::stat(directory.c_str(), &found) == 0) return static_cast<std::int64_t>(found.st_ino);
  return tl::unexpected(from_store_error(system_error("read", directory)));
}

tl::unexpected<CallError> not_a_job(const std::string& job_id) {
  return tl::unexpected(io_error("the service ordered a job whose id is no file name: " + job_id));
}

}  // namespace

Called<RunnerWork> RunnerWork::open(const fs::path& directory) {
  TRY(called(make_directories(directory)));
  std::error_code refused;
  fs::permissions(directory, fs::perms::owner_all, refused);
  if (refused) return tl::unexpected(io_error(directory.string() + ": " + refused.message()));
  auto lock = TRY(called(DirectoryLock::take(directory / "lock", "signalbox runner")));
  RunnerWork work(directory, std::move(lock));
  for (const char* name : {"taken", "ended", "placed", "failed", "jobs", "runs", "artifacts"}) {
    TRY(called(make_directories(directory / name)));
  }
  const fs::path file = directory / "runner.json";
  auto found = read_stored_json<RunnerIdentity>(file, UnknownFields::left_out);
  if (!found && found.error().kind != StoreError::Kind::not_found) {
    return tl::unexpected(from_store_error(found.error()));
  }
  if (found) work.identity_ = std::move(*found);
  const std::int64_t inode = TRY(inode_of(directory));
  if (!work.identity_.runner.empty() && work.identity_.inode != inode) {
    work.identity_ = {};
    fs::rename(directory / "taken", directory / "taken.copied", refused);
    TRY(called(make_directories(directory / "taken")));
  }
  work.identity_.inode = inode;
  ++work.identity_.starts;
  TRY(called(write_stored_json(file, work.identity_)));
  work.remove_old();
  return work;
}

Called<void> RunnerWork::note_registration(const std::string& runner, const std::string& key) {
  const std::lock_guard lock(*mutex_);
  identity_.runner = runner;
  identity_.key = key;
  return called(write_stored_json(directory_ / "runner.json", identity_));
}

RunnerIdentity RunnerWork::identity() const {
  const std::lock_guard lock(*mutex_);
  return identity_;
}

fs::path RunnerWork::file_of(const std::string& job_id) const {
  return directory_ / "taken" / (job_id + ".json");
}

Called<std::vector<RunnerOrder>> RunnerWork::taken() const {
  std::vector<RunnerOrder> orders;
  std::error_code error;
  for (const auto& entry : list_directory(directory_ / "taken", error)) {
    if (entry.path().extension() != ".json") continue;  // one that is being written
    orders.push_back(TRY(called(read_order(entry.path(), jobs()))));
  }
  if (error) {
    return tl::unexpected(io_error((directory_ / "taken").string() + ": " + error.message()));
  }
  return orders;
}

Called<void> RunnerWork::take(const RunnerOrder& order) {
  if (!is_file_name(order.job.id)) return not_a_job(order.job.id);
  TakenOrder taken;
  taken.order = order;
  return called(write_stored_json(file_of(order.job.id), taken));
}

bool RunnerWork::has_ended(const std::string& job_id) const {
  std::error_code unknown;
  return is_file_name(job_id) && fs::exists(directory_ / "ended" / job_id, unknown);
}

Called<void> RunnerWork::forget(const std::string& job_id) {
  if (!is_file_name(job_id)) return not_a_job(job_id);
  TRY(called(replace_file(directory_ / "ended" / job_id, "")));
  std::error_code error;
  fs::remove(file_of(job_id), error);
  if (error) return tl::unexpected(io_error(file_of(job_id).string() + ": " + error.message()));
  return called(sync_directory(directory_ / "taken"));
}

Called<void> RunnerWork::place(const RunId& run_id, const PlacedRun& run) {
  PlacedRun noted = run;
  if (!noted.remote) {
    const auto before = TRY(placed(run_id));
    if (before) noted.remote = before->remote;
  }
  return called(write_stored_json(directory_ / "placed" / (to_string(run_id) + ".json"), noted));
}

Called<std::optional<PlacedRun>> RunnerWork::placed(const RunId& run_id) const {
  auto found = read_stored_json<PlacedRun>(directory_ / "placed" / (to_string(run_id) + ".json"),
                                           UnknownFields::left_out);
  if (found) return std::optional(std::move(*found));
  if (found.error().kind == StoreError::Kind::not_found) return std::nullopt;
  return tl::unexpected(from_store_error(found.error()));
}

void RunnerWork::forget_run(const RunId& run_id) const {
  std::error_code unknown;
  fs::remove(directory_ / "placed" / (to_string(run_id) + ".json"), unknown);
  forget_failure(run_id);
}

std::chrono::nanoseconds RunnerWork::failed_for(const RunId& run_id) const {
  const fs::path mark = directory_ / "failed" / to_string(run_id);
  std::error_code unknown;
  fs::create_directory(mark, unknown);  // one that is there stays as old as it is
  const auto since = fs::last_write_time(mark, unknown);
  return unknown ? std::chrono::nanoseconds(0) : fs::file_time_type::clock::now() - since;
}

void RunnerWork::forget_failure(const RunId& run_id) const {
  std::error_code unknown;
  fs::remove(directory_ / "failed" / to_string(run_id), unknown);
}

void RunnerWork::remove_old() const {
  std::error_code unknown;
  for (const auto& entry : list_directory(directory_ / "ended", unknown)) {
    const auto age = fs::file_time_type::clock::now() - entry.last_write_time(unknown);
    if (unknown || age < ended_kept) continue;
    // What the agents of a run that isn't over have used is known from its earlier jobs.
    const auto parts = parse_job_id(entry.path().filename().string());
    if (parts && fs::exists(runs() / parts->run_id, unknown)) continue;
    // What couldn't be removed is tried again at the next start.
    if (remove_tree(jobs() / entry.path().filename())) fs::remove(entry.path(), unknown);
  }
}

}  // namespace signalbox
