#include "tests/simulation/simulated_repositories.h"

#include <algorithm>

#include "store/sha256.h"

namespace signalbox::simulation {
namespace {

// Two loops and a restart may have read it since.
constexpr std::size_t shown_digests_max = 6;

}  // namespace

void SimulatedRepositories::write_policy(const std::string& repository, const PolicyDraft& draft) {
  environment_.note("policy of " + repository + " is written");
  repositories_[repository].text = draft.text;
  drafts_.insert_or_assign(sha256(draft.text), draft);
}

void SimulatedRepositories::begin_worktree(const Job& job) {
  if (job.repository.empty()) return;
  environment_.expect(!removed_.contains(job.run_id) || !is_open_(job.run_id),
                      "job " + job.id + " begins in a worktree that was removed");
  worktrees_.try_emplace(job.run_id, Worktree{job.repository});
}

Decided<void> SimulatedRepositories::check(const PutProject& command) {
  if (!environment_.faults.strikes(Fault::repository_away)) return {};
  return tl::unexpected(Rejection{ErrorCode::INVALID_PARAMS,
                                  command.repository + " isn't there",
                                  {{"field", std::string("repository")}},
                                  {}});
}

Digest SimulatedRepositories::note_shown(Repository& repository, const Digest& digest) {
  repository.shown_digests.push_back(digest);
  if (repository.shown_digests.size() > shown_digests_max) repository.shown_digests.pop_front();
  return digest;
}

Stored<std::shared_ptr<const PolicyReading>> SimulatedRepositories::read_policy(
    const std::filesystem::path& path, const std::string&, std::int64_t) {
  Repository& repository = repositories_[path.string()];
  auto reading = std::make_shared<PolicyReading>();
  if (environment_.faults.strikes(Fault::repository_away)) {
    const StoreError away{StoreError::Kind::io, path.string() + " can't be read", path.string(), 0};
    note_shown(repository, sha256(away.message));
    return tl::unexpected(away);
  }
  const bool is_known = environment_.mutant == Mutant::policy_read_once && is_read_once_;
  is_read_once_ = is_read_once_ || !repository.text.empty();
  if (repository.text.empty() || is_known) {
    note_shown(repository, repository.text.empty() ? Digest{} : sha256(repository.text));
    return reading;
  }
  reading->is_there = true;
  reading->text = repository.text;
  reading->digest = note_shown(repository, sha256(reading->text));
  reading->policy = parse_policy_file(reading->text);
  if (environment_.mutant == Mutant::bad_policy_taken && !reading->policy) {
    reading->policy = Policy{};
  }
  return reading;
}

// A worktree may go only when the end of its run is durable. Otherwise the run would be repeated
// after a crash, and its work would be lost.
NoteWorktree SimulatedRepositories::remove(const std::string& project, const RunId& run_id) {
  NoteWorktree note;
  note.project = project;
  note.run_id = run_id;
  note.removed = true;
  const auto place = worktrees_.find(run_id);
  if (place == worktrees_.end()) return note;
  environment_.expect(!is_open_(run_id),
                      "the worktree of run " + to_string(run_id) + " is removed, which goes on");
  note.path = place->second.repository + "/" + to_string(run_id);
  if (environment_.random.one_in(12)) {  // which is nobody's fault
    place->second.is_left = true;
    note.removed = false;
    note.reason = "somebody stands in it";
  } else {
    worktrees_.erase(place);
    removed_.insert(run_id);
  }
  environment_.note("worktree " + note.path + (note.removed ? " is removed" : " is stuck"));
  if (environment_.faults.strikes(Fault::crash_after_effect)) {
    environment_.crash("after an effect");
  }
  return note;
}

NoteWorktree SimulatedRepositories::remove_worktree(const CardWorktree& worktree, bool) {
  return remove(worktree.project, worktree.run_id);
}

bool SimulatedRepositories::has_worktree(const CardWorktree& worktree) {
  return worktrees_.contains(worktree.run_id);
}

tl::expected<std::set<std::string>, std::string> SimulatedRepositories::runs_with_worktrees(
    const std::filesystem::path& repository) {
  if (environment_.faults.strikes(Fault::repository_away)) {
    return tl::unexpected(repository.string() + " can't be read");
  }
  std::set<std::string> run_ids;
  for (const auto& [id, worktree] : worktrees_) {
    if (worktree.repository == repository.string()) run_ids.insert(to_string(id));
  }
  return run_ids;
}

tl::expected<std::vector<NoteWorktree>, std::string> SimulatedRepositories::remove_orphans(
    const std::string& project, const std::filesystem::path&,
    const std::set<std::string>& run_ids) {
  std::vector<NoteWorktree> notes;
  notes.reserve(run_ids.size());
  for (const std::string& id : run_ids) notes.push_back(remove(project, *parse_uuid(id)));
  return notes;
}

std::int64_t SimulatedRepositories::duration_ns() {
  if (environment_.faults.strikes(Fault::repository_slow)) {
    return environment_.random.between(500, 4000) * ns_per_ms;
  }
  return environment_.random.between(0, 3000) * ns_per_us;
}

const PolicyDraft* SimulatedRepositories::find_draft(const Digest& digest) const {
  const auto place = drafts_.find(digest);
  return place == drafts_.end() ? nullptr : &place->second;
}

bool SimulatedRepositories::was_read_lately(const std::string& repository,
                                            const Digest& digest) const {
  const auto place = repositories_.find(repository);
  return place != repositories_.end() &&
         std::find(place->second.shown_digests.begin(), place->second.shown_digests.end(),
                   digest) != place->second.shown_digests.end();
}

bool SimulatedRepositories::is_accounted_for(const RunId& run_id) const {
  const auto place = worktrees_.find(run_id);
  return place == worktrees_.end() || place->second.is_left;
}

}  // namespace signalbox::simulation
