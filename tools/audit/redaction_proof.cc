// Checks that the log still folds with the replacement of a record's payload.
//
// A fold aborts the process at an event that doesn't apply (SIGNALBOX_CHECK). It therefore runs in
// a child process, whose message is reported; nothing has been written yet.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "domain/admission.h"
#include "domain/evolve.h"
#include "domain/invariants.h"
#include "projections/history_base.h"
#include "store/file_descriptor.h"
#include "tools/audit/redaction_plan.h"

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
std::string fold_redacted(const std::filesystem::path& data, const RedactionPlan& plan,
                          const std::string& reason) {
  const auto log = RocksEventLog::open(data, {.read_only = true});
  if (!log) return log.error().message;
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
  evolve(world, redaction_note(plan, world.position + 1, reason));
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

}  // namespace

Called<Position> prove_redaction(const std::filesystem::path& data, const RedactionPlan& plan,
                                 const std::string& reason) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return tl::unexpected(io_error(std::string("can't make a pipe: ") + std::strerror(errno)));
  }
  const FileDescriptor reading(ends[0]);
  FileDescriptor writing(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) {
    return tl::unexpected(io_error(std::string("can't fork: ") + std::strerror(errno)));
  }
  if (child == 0) {
    ::dup2(writing.get(), STDERR_FILENO);  // the message of a CHECK
    const std::string message = fold_redacted(data, plan, reason);
    std::string_view left = message;
    while (!left.empty()) {
      const ssize_t count = ::write(writing.get(), left.data(), left.size());
      if (count <= 0) break;
      left.remove_prefix(static_cast<std::size_t>(count));
    }
    ::_exit(0);
  }
  writing = FileDescriptor();
  std::string message = read_to_end(reading.get());
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  Position tail = 0;
  if (WIFEXITED(status) && message.starts_with(holds)) {
    std::from_chars(message.data() + holds.size(), message.data() + message.size(), tail);
    return tail;
  }
  while (!message.empty() && message.back() == '\n') message.pop_back();
  return tl::unexpected(redaction_refused(
      "REDACTION_IMPOSSIBLE",
      "without these texts the log wouldn't fold any more, so nothing was changed: " + message,
      {{"position", plan.record.position}, {"against", message}}));
}

}  // namespace signalbox
