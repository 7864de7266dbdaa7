// What PostgresConnection sets for its session, and that it keeps the session.
#include <chrono>

#include "store/libpq_library.h"
#include "store/postgres_connection.h"

namespace signalbox {
namespace {

// What the session needs, whatever is set for the server, the database or the role. A wait for
// standbys that was asked to include their replay is left so. Warnings have to come: one of them is
// all that tells a commit without a standby from a durable one. Statements have backslashes that
// mean themselves. transaction_timeout came with PostgreSQL 17.
constexpr const char* session_settings =
    "SELECT pg_backend_pid(),"
    " set_config('synchronous_commit', CASE current_setting('synchronous_commit')"
    " WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, false),"
    " set_config('lock_timeout', '0', false),"
    " set_config('idle_in_transaction_session_timeout', '0', false),"
    " set_config('idle_session_timeout', '0', false),"
    " set_config('default_transaction_isolation', 'read committed', false),"
    " set_config('client_min_messages', 'warning', false),"
    " set_config('standard_conforming_strings', 'on', false),"
    " (SELECT set_config(name, '0', false) FROM pg_settings WHERE name = 'transaction_timeout')";

// Before them, by itself: that is done within a millisecond, whatever the role's timeout is.
constexpr const char* timeout_setting = "SET statement_timeout = 0";

// A statement that nobody waits for any more, since its deadline is over, would otherwise stand in
// line for a table's lock as long as that is held, and hold a connection: with one more at each
// attempt, nobody could connect to the database in the end. Systems that can't do it refuse it.
constexpr const char* abandonment_setting =
    "SELECT set_config('client_connection_check_interval', '1s', false)";

}  // namespace

PostgresConnection::Problem PostgresConnection::set_up(Deadline deadline) {
  library_->setnonblocking(connection_, 1);
  library_->setErrorVerbosity(connection_, PQERRORS_DEFAULT);
  const PostgresAnswer untimed = run(Effect::reads, timeout_setting, {}, deadline);
  if (!untimed.is_ok()) return {untimed.message, false};
  const PostgresAnswer set = run(Effect::reads, session_settings, {}, deadline);
  if (!set.is_ok()) return {set.message, false};
  session_ = static_cast<std::int32_t>(set.rows.at(0).integer(0));
  const PostgresAnswer watched = run(Effect::reads, abandonment_setting, {}, deadline);
  const bool is_refused = watched.outcome == PostgresAnswer::Outcome::refused;
  if (!watched.is_ok() && !is_refused) return {watched.message, false};
  return require_session(deadline);
}

// A pooler has a key of its own to cancel by, so the process that it names isn't the one that
// answers. Then it is looked whether this connection has another session while a transaction of a
// second connection keeps the one that it had. It may be overlooked, if others use the pool: so
// each write looks as well (in_own_session()).
PostgresConnection::Problem PostgresConnection::require_session(Deadline deadline) {
  if (is_second_ || library_->backendPID(connection_) == session_) return {};
  const auto now = std::chrono::steady_clock::now();
  const Deadline second_deadline = now + (deadline - now) / 2;
  PostgresConnection second(url_);
  second.is_second_ = true;
  second.next_host_ = next_host_;
  if (!second.connect(second_deadline)) return {};
  if (!second.run(Effect::reads, "BEGIN", {}, second_deadline).is_ok()) return {};
  const PostgresAnswer answer = run(Effect::reads, "SELECT pg_backend_pid()", {}, deadline);
  if (!answer.is_ok()) return {answer.message, false};
  if (answer.rows.at(0).integer(0) == session_) return {};
  return {std::string(session_lost), false};
}

}  // namespace signalbox
