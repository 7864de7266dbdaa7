#include "server/access/authentication.h"

#include <algorithm>
#include <utility>

#include <openssl/crypto.h>

#include "domain/refusals.h"
#include "server/access/secret.h"
#include "server/text/time_text.h"

namespace signalbox {
namespace {

// The name of a token in a command that somebody may paste as it is.
const char* const example_name = "my-machine";

// Returns whether the attempt's job was submitted by a version that didn't tell jobs from the user
// whom they run as; those versions didn't record the machine either. Its pipeline couldn't allow it
// locks yet, and if it couldn't keep those that it holds, their leases would end while it works.
bool began_under_earlier_version(const Attempt& attempt) { return attempt.machine.empty(); }

constexpr std::string_view issue_command_words = "signalbox access issue ";

}  // namespace

Authentication::Authentication(const Engine& engine, const Clock& clock, Settings settings)
    : engine_(engine), clock_(clock), settings_(std::move(settings)) {}

std::string Authentication::issue_words(const std::string& name, bool is_local) const {
  const auto is_taken = [this](const std::string& candidate) {
    const auto& tokens = engine_.world().access.tokens;
    return std::any_of(tokens.begin(), tokens.end(), [&](const AccessToken& token) {
      return token.name == candidate && token.usable(clock_.wall_ns());
    });
  };
  std::string free = name;
  for (int number = 2; is_taken(free); ++number) free = name + "-" + std::to_string(number);
  const bool names_socket = is_local && !settings_.socket.empty();
  return std::string(issue_command_words) + shell_word(free) +
         (names_socket ? " --socket " + shell_word(settings_.socket) : "");
}

std::string Authentication::issue_command(Role role) const {
  return issue_words(example_name, /*is_local=*/true) + " --role " + name_of(role);
}

tl::unexpected<Rejection> Authentication::unauthenticated(const char* reason,
                                                          const std::string& message,
                                                          const std::string& token_name,
                                                          bool is_local) const {
  return reject(ErrorCode::UNAUTHENTICATED, message, {{"reason", std::string(reason)}},
                {issue_words(token_name, is_local)});
}

Decided<Principal> Authentication::unix_peer(std::uint32_t uid,
                                             std::optional<std::string_view> secret) const {
  if (secret) return by_secret(*secret, /*is_local=*/true);
  return Principal{"uid:" + std::to_string(uid),
                   is_owner(uid, settings_.server_uid) ? Role::admin : settings_.other_user_role};
}

Decided<Principal> Authentication::tcp_peer(const std::string& address, bool loopback,
                                            std::optional<std::string_view> secret) const {
  if (secret) return by_secret(*secret, loopback);
  if (const auto role = loopback ? loopback_role() : std::nullopt) {
    return Principal{"tcp:" + address, *role};
  }
  return unauthenticated("missing",
                         "an access token is needed here; the server's own user can issue one over "
                         "its Unix socket",
                         example_name, loopback);
}

Decided<Principal> Authentication::of(const Caller& caller,
                                      std::optional<std::string_view> secret) const {
  auto principal = by_shown(caller, secret);
  if (!principal) return principal;
  // Another user's process may be invisible in /proc, but no job runs as that user.
  principal->process_is_gone =
      caller.process_is_gone && caller.uid && is_owner(*caller.uid, settings_.server_uid);
  principal->process_is_unknown =
      !caller.uid && caller.loopback && !secret && !caller.token_id && !caller.shown_job_id;
  // A job may show the token of somebody else, and is still a job.
  if (caller.job_id && !principal->job) {
    const auto inside = job(*caller.job_id);
    principal->job = inside ? *inside->job : JobOfAttempt{actor_of_job(*caller.job_id)};
  }
  return principal;
}

Decided<Principal> Authentication::by_shown(const Caller& caller,
                                            std::optional<std::string_view> secret) const {
  const bool is_local = caller.uid || caller.loopback;
  const bool shows_job = secret ? is_job_secret(*secret) : caller.shown_job_id.has_value();
  // A process of a job is of that job only, whichever job's secret it has found.
  if (shows_job && caller.job_id) return job(*caller.job_id);
  if (secret) return by_secret(*secret, is_local);
  if (caller.token_id) return by_token(*caller.token_id, is_local);
  if (caller.shown_job_id) return job(*caller.shown_job_id);
  return by_process(caller);
}

Decided<Principal> Authentication::by_process(const Caller& caller) const {
  if (caller.job_id) return job(*caller.job_id);
  if (!caller.uid) return tcp_peer(caller.address, caller.loopback, {});
  if (caller.process_is_gone && is_owner(*caller.uid, settings_.server_uid)) {
    return unauthenticated("process_gone",
                           "the process that connected has ended, so nobody can say whether it "
                           "was a job: connect from one that waits for the answer",
                           example_name, /*is_local=*/true);
  }
  return unix_peer(*caller.uid);
}

Decided<Principal> Authentication::job(std::string_view job_id) const {
  const auto name = parse_job_id(job_id);
  const auto run_id = name ? parse_uuid(name->run_id) : std::nullopt;
  const Run* const run = run_id ? engine_.world().find_run(*run_id) : nullptr;
  if (run == nullptr || !run->attempt || run->attempt->job_id != job_id) {
    return reject(ErrorCode::UNAUTHENTICATED,
                  "the attempt of " + actor_of_job(job_id) + " has ended, and so have its rights",
                  {{"reason", std::string("attempt_ended")}},
                  {"signalbox run get " + (name ? name->run_id : std::string("RUN"))});
  }
  const bool is_agent = run->definition().executor == ExecutorKind::coderunner;
  const std::string actor =
      (is_agent ? "agent:" : "job:") + name->run_id + "/" + name->station + "/" + name->attempt;
  JobOfAttempt sender{actor, run->id, run->attempt->token, name->station};
  const bool is_older = began_under_earlier_version(*run->attempt);
  for (const JobAllowance each : {JobAllowance::locks, JobAllowance::ticks}) {
    if (is_older || allows(run->definition(), each)) sender.allowed.push_back(each);
  }
  if (is_older) sender.former_actor = "uid:" + std::to_string(settings_.server_uid);
  return Principal{actor, Role::job, std::move(sender)};
}

Decided<std::string> Authentication::job_of(std::string_view secret) const {
  auto job_id = job_of_secret(settings_.job_key, secret);
  if (!job_id) {
    return unauthenticated("unknown", "this access token isn't known", example_name,
                           /*is_local=*/true);
  }
  return std::move(*job_id);
}

// Compares with every token, each in constant time, so that the duration reveals nothing about any
// digest.
Decided<Uuid> Authentication::token_of(std::string_view secret, bool is_local) const {
  const Digest digest = digest_of_secret(secret);
  const AccessToken* found = nullptr;
  for (const AccessToken& token : engine_.world().access.tokens) {
    if (CRYPTO_memcmp(token.secret_sha256.bytes.data(), digest.bytes.data(), digest.bytes.size()) ==
        0) {
      found = &token;
    }
  }
  if (found == nullptr) {
    return unauthenticated("unknown", "this access token isn't known", example_name, is_local);
  }
  return by_token(found->id, is_local).map([found](const Principal&) { return found->id; });
}

Decided<Principal> Authentication::by_secret(std::string_view secret, bool is_local) const {
  if (is_job_secret(secret)) {
    return job_of(secret).and_then([this](const std::string& id) { return job(id); });
  }
  return token_of(secret, is_local).and_then([this, is_local](const Uuid& id) {
    return by_token(id, is_local);
  });
}

Decided<Principal> Authentication::by_token(const Uuid& token_id, bool is_local) const {
  const AccessToken* token = engine_.world().access.find(token_id);
  if (token == nullptr) {
    return unauthenticated("unknown", "this access token isn't known", example_name, is_local);
  }
  if (token->status == AccessTokenStatus::revoked) {
    return unauthenticated(
        "revoked",
        "the access token " + token->name + " was revoked at " + format_time(token->revoked_at_ns),
        token->name, is_local);
  }
  if (!token->usable(clock_.wall_ns())) {
    return unauthenticated("expired",
                           "the access token " + token->name + " expired at " +
                               format_time(token->expires_at_ns.value_or(0)),
                           token->name, is_local);
  }
  Principal principal{"token:" + token->name, token->role};
  principal.access_token = token->id;
  return principal;
}

std::optional<Rejection> Authentication::why_ended(const Uuid& token_id) const {
  auto principal = by_token(token_id, /*is_local=*/false);
  if (principal) return std::nullopt;
  return std::move(principal.error());
}

Rejection with_needed_role(Rejection why, Role needs) {
  for (std::string& command : why.next_commands) {
    if (command.starts_with(issue_command_words)) {
      command += std::string(" --role ") + name_of(needs);
    }
  }
  return why;
}

}  // namespace signalbox
