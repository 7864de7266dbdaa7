#include "tools/audit/redaction_proof.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <string_view>
#include <utility>

#include "domain/admission.h"
#include "domain/evolve.h"
#include "domain/invariants.h"
#include "projections/history_base.h"
#include "tools/audit/redaction_plan.h"
#include "tools/cli/json_fields.h"

namespace signalbox {
namespace {

constexpr std::string_view holds = "holds ";

// Returns what goes wrong without the record's texts, though the log still folds; empty: nothing.
std::string needed_by(const World& world, const RedactionPlan& plan) {
  std::string broken;
  for (const auto& [id, run] : world.runs) {
    if (!run->attempt || !is_blank(run->attempt->external_ref)) continue;
    broken = "run " + to_string(id) + " asks for its job by this external_ref until it has ended";
  }
  const auto* blocked = event_as<CardBlocked>(plan.record.event);
  const Card* card = blocked == nullptr ? nullptr : world.board.find(plan.record.stream.run_id);
  if (card != nullptr && is_blank(card->message) && depends_on_message(*card, blocked->message)) {
    broken = "the next run of card " + to_string(card->id) +
             " knows only from this message of the work that couldn't be pushed; redact it once "
             "that run has started";
  }
  return broken;
}

// Returns "holds TAIL", or the reason why the log doesn't fold.
std::string fold_redacted(const RedactionProof::Settings& settings) {
  const auto log = RocksEventLog::open(settings.data, {.read_only = true});
  if (!log) return log.error().message;
  const auto planned = plan_redaction(**log, settings.data, settings.position, settings.fields);
  if (!planned) return text_at(planned.error().error, "message");
  const RedactionPlan& plan = *planned;
  auto first = plan.base.empty() ? initial_world(**log) : world_in_base(plan.base);
  if (!first) return first.error().message;
  World& world = *first;
  const auto scanned = (*log)->scan(world.position + 1, (*log)->tail(), [&](Record&& record) {
    if (record.position == plan.record.position) {
      record.event = plan.replacement;
      record.redacted = true;
    }
    evolve(world, record);
    return true;
  });
  if (!scanned) return scanned.error().message;
  const Position tail = world.position;
  if (!plan.base.empty()) {
    const auto renewal = renewal_note(**log, plan.base);
    if (!renewal) return renewal.error().message;
    evolve(world, *renewal);
  }
  evolve(world, redaction_note(plan, world.position + 1, settings.reason));
  std::string broken = needed_by(world, plan);
  for (const std::string& each : broken_invariants(world)) {
    broken += (broken.empty() ? "" : "; ") + each;
  }
  return broken.empty() ? std::string(holds) + std::to_string(tail) : broken;
}

std::string read_to_end(int file) {
  std::string text;
  std::array<char, 4096> room{};
  for (;;) {
    const ssize_t count = ::read(file, room.data(), room.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return text;
    text.append(room.data(), static_cast<std::size_t>(count));
  }
}

// Folds after a byte on `go`; exits without a word at its end.
[[noreturn]] void fold_when_asked(const RedactionProof::Settings& settings, int go,
                                  const FileDescriptor& answer) {
  char byte = 0;
  ssize_t asked = 0;
  while ((asked = ::read(go, &byte, 1)) < 0 && errno == EINTR) {
  }
  if (asked == 1) {
    ::dup2(answer.get(), STDERR_FILENO);  // the message of a CHECK
    (void)write_all(answer, fold_redacted(settings));
  }
  ::_exit(0);
}

CallError no_pipe() { return io_error(std::string("can't make a pipe: ") + std::strerror(errno)); }

}  // namespace

Called<RedactionProof> RedactionProof::start(const Settings& settings) {
  std::array<int, 2> go{};
  std::array<int, 2> answer{};
  if (::pipe2(go.data(), O_CLOEXEC) != 0) return tl::unexpected(no_pipe());
  FileDescriptor go_read(go[0]);
  FileDescriptor go_write(go[1]);
  if (::pipe2(answer.data(), O_CLOEXEC) != 0) return tl::unexpected(no_pipe());
  FileDescriptor answer_read(answer[0]);
  FileDescriptor answer_write(answer[1]);
  const pid_t child = ::fork();
  if (child < 0) {
    return tl::unexpected(io_error(std::string("can't fork: ") + std::strerror(errno)));
  }
  if (child == 0) {
    go_write = FileDescriptor();
    fold_when_asked(settings, go_read.get(), answer_write);
  }
  return RedactionProof(child, settings.position, std::move(go_write), std::move(answer_read));
}

RedactionProof::RedactionProof(pid_t child, Position position, FileDescriptor go,
                               FileDescriptor answer)
    : child_(child), position_(position), go_(std::move(go)), answer_(std::move(answer)) {}

RedactionProof::RedactionProof(RedactionProof&& other) noexcept
    : child_(std::exchange(other.child_, -1)),
      position_(other.position_),
      go_(std::move(other.go_)),
      answer_(std::move(other.answer_)) {}

RedactionProof::~RedactionProof() { await_end(); }

int RedactionProof::await_end() {
  go_ = FileDescriptor();
  int status = 0;
  while (child_ > 0 && ::waitpid(child_, &status, 0) < 0 && errno == EINTR) {
  }
  child_ = -1;
  return status;
}

Called<Position> RedactionProof::prove() && {
  (void)!::write(go_.get(), "", 1);
  std::string message = read_to_end(answer_.get());
  const int status = await_end();
  Position tail = 0;
  if (WIFEXITED(status) && message.starts_with(holds)) {
    std::from_chars(message.data() + holds.size(), message.data() + message.size(), tail);
    return tail;
  }
  while (!message.empty() && message.back() == '\n') message.pop_back();
  return tl::unexpected(redaction_refused(
      "REDACTION_IMPOSSIBLE",
      "without these texts the log wouldn't fold any more, so nothing was changed: " + message,
      {{"position", position_}, {"against", message}}));
}

}  // namespace signalbox
