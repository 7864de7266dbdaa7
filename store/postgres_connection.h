// One connection to a PostgreSQL server, with deadlines of its own: neither a server that hangs nor
// a network that swallows packets holds a call longer. It knows no tables.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "store/file_descriptor.h"
#include "store/postgres_values.h"
#include "store/store_error.h"

struct pg_conn;

namespace signalbox {

struct LibpqLibrary;
class PostgresCertificates;

// Why nothing is written through a pooler that doesn't keep sessions, with what to do.
inline constexpr std::string_view session_lost =
    "the database is behind a pooler that gives each transaction another session, where commits "
    "may wait for no standby: connect to the database itself, or have the pooler keep the session "
    "of a connection (PgBouncer: pool_mode = session)";

struct PostgresAnswer {
  enum class Outcome {
    ok,
    refused,  // the server answered with an error: nothing of the statement is there
    unsent,   // there is no connection
    unknown,  // it was sent, and there is no answer, or none to believe
  };
  Outcome outcome = Outcome::ok;
  std::string message;          // the reason, unless ok; without passwords
  std::string sqlstate;         // if refused
  std::vector<unsigned> types;  // the object ids of the columns' types
  std::vector<PostgresRow> rows;

  [[nodiscard]] bool is_ok() const { return outcome == Outcome::ok; }
};

// One thread at a time uses it, except interrupt().
class PostgresConnection {
 public:
  using Deadline = std::chrono::steady_clock::time_point;
  enum class Effect { reads, writes };

  // `url` is a connection string of libpq with any number of hosts; it is read-write that is looked
  // for, unless it says otherwise (target_session_attrs).
  explicit PostgresConnection(std::string url);
  PostgresConnection(const PostgresConnection&) = delete;
  PostgresConnection& operator=(const PostgresConnection&) = delete;
  ~PostgresConnection();

  // Connects unless there is a connection that isn't known to be lost. Tries the hosts in turn,
  // beginning with the one that was connected last, each for its share of the time that is left.
  // A host that was reached and hasn't let the role in by then is gone on with by the next call, so
  // that short calls reach a slow server as well. Returns true if the connection is a new one.
  // Fails with `away`; with `denied` if each host refuses the role, its password or the database;
  // with `unsupported` without libpq, or if the URL can't be understood. Blocks on names of hosts,
  // which libpq looks up itself.
  Stored<bool> connect(Deadline deadline);

  // Runs one statement. After anything but an answer the connection is closed, so that a
  // transaction that is open ends without a commit. A statement that writes is unknown if the
  // server warned: PostgreSQL answers so if the wait for the standbys was cancelled.
  //
  // With `latest`, an answer that is on its way isn't given up: whenever a part of it has come, the
  // call has again as long as it had at first, until then.
  PostgresAnswer run(Effect effect, const std::string& statement,
                     const std::vector<PostgresValue>& values, Deadline deadline,
                     Deadline latest = {});

  // Closes it, and what is begun.
  void close();
  // Closes it; the next connection is looked for at another host first.
  void move_on();
  [[nodiscard]] int server_version() const;  // e.g. 150018; 0: not connected
  // Returns the process that answers at the server, which has what was set for the session.
  [[nodiscard]] std::int32_t session() const { return session_; }
  // Ends the call under way, and all later ones, soon. Any thread.
  void interrupt();

 private:
  struct Host {
    std::string name;     // empty: by the address alone, or libpq's default
    std::string address;  // empty: by the name
    std::string port;
    pg_conn* begun = nullptr;  // a connection to it that isn't made yet
    Deadline begun_at;
  };
  enum class Wait { ready, timed_out, interrupted };
  // Why a host can't be used.
  struct Problem {
    std::string text;        // empty: it can
    bool is_denied = false;  // it refuses the role, its password or the database
  };

  Stored<void> parse_hosts();
  void finish();
  // Takes the connection to the host that is begun. Returns false if there is none, or too old a
  // one.
  [[nodiscard]] bool go_on(Host& host);
  // Begins a connection to the host. Returns false without memory.
  [[nodiscard]] bool begin(Host& host);
  // Connects to the host.
  [[nodiscard]] Problem reach(Host& host, Deadline deadline);
  // Sets what each session needs. It and what follows are in postgres_session.cc.
  [[nodiscard]] Problem set_up(Deadline deadline);
  // Looks whether the session is this connection's for as long as that lasts.
  [[nodiscard]] Problem require_session(Deadline deadline);
  [[nodiscard]] Wait wait(short events, Deadline deadline) const;
  // Returns why the answer can't be had, or "".
  [[nodiscard]] std::string receive(PostgresAnswer& answer, Deadline deadline, Deadline latest);
  [[nodiscard]] std::string error_text() const;
  [[nodiscard]] Problem connection_problem(PostgresCertificates& certificates) const;
  [[nodiscard]] bool is_lost();

  const std::string url_;
  const LibpqLibrary* library_ = nullptr;
  std::vector<Host> hosts_;
  std::size_t next_host_ = 0;
  pg_conn* connection_ = nullptr;
  std::int32_t session_ = 0;
  bool is_second_ = false;      // of require_session()
  FileDescriptor interrupted_;  // an eventfd, readable for ever after interrupt()
  std::string warning_;         // that came during the present statement
};

}  // namespace signalbox
