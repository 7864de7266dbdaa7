#include "store/postgres_connection.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <initializer_list>
#include <utility>

#include "domain/check.h"
#include "domain/text_parts.h"
#include "domain/try.h"
#include "store/libpq_library.h"
#include "store/postgres_advice.h"
#include "store/postgres_certificates.h"

namespace signalbox {
namespace {

// So long a connection that is begun is gone on with: a server that stopped before it was let in
// may have forgotten it.
constexpr std::chrono::seconds begun_connection_time_max(5);

std::vector<std::string> split_list(const char* list) {
  std::vector<std::string> parts;
  if (list == nullptr || *list == '\0') return parts;
  std::string_view rest = list;
  for (;;) {
    const std::size_t comma = rest.find(',');
    parts.emplace_back(rest.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    rest.remove_prefix(comma + 1);
  }
}

// Until a session has its encoding, the server's messages have that of its machine; and whatever
// listens there may send anything.
std::string in_one_line(std::string_view text) {
  constexpr std::size_t bytes_max = 2000;
  std::string line;
  while (!text.empty() && line.size() < bytes_max) {
    const std::size_t size = utf8_character_bytes(text);
    const bool is_control = size == 1 && static_cast<unsigned char>(text.front()) < ' ';
    line += size == 0 ? "?" : is_control ? " " : text.substr(0, size);
    text.remove_prefix(std::max(size, std::size_t{1}));
  }
  return std::string(trimmed(line));
}

struct ResultClear {
  const LibpqLibrary* library;
  void operator()(PGresult* result) const { library->clear(result); }
};
using OwnedResult = std::unique_ptr<PGresult, ResultClear>;

std::string_view error_field(const LibpqLibrary& library, const PGresult* result, int field) {
  const char* const text = library.resultErrorField(result, field);
  return text == nullptr ? "" : text;
}

// Of these errors the server doesn't say that the transaction was rolled back: those of the
// connection, of a commit that is in doubt, of an operator's intervention, of the system, and
// internal ones.
bool leaves_in_doubt(std::string_view severity, std::string_view sqlstate) {
  if (severity != "ERROR" || sqlstate == "40003") return true;
  const std::string_view kind = sqlstate.substr(0, 2);
  return kind == "08" || kind == "58" || kind == "XX" || sqlstate.substr(0, 4) == "57P0";
}

}  // namespace

PostgresConnection::PostgresConnection(std::string url)
    : url_(std::move(url)), interrupted_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  SIGNALBOX_CHECK(static_cast<bool>(interrupted_));
}

PostgresConnection::~PostgresConnection() { close(); }

void PostgresConnection::finish() {
  if (connection_ != nullptr) library_->finish(std::exchange(connection_, nullptr));
}

void PostgresConnection::close() {
  finish();
  for (Host& host : hosts_) {
    if (host.begun != nullptr) library_->finish(std::exchange(host.begun, nullptr));
  }
}

void PostgresConnection::move_on() {
  close();
  if (!hosts_.empty()) next_host_ = (next_host_ + 1) % hosts_.size();
}

void PostgresConnection::interrupt() {
  const std::uint64_t one = 1;
  static_cast<void>(::write(interrupted_.get(), &one, sizeof one));
}

int PostgresConnection::server_version() const {
  return connection_ == nullptr ? 0 : library_->serverVersion(connection_);
}

std::string PostgresConnection::error_text() const {
  return in_one_line(library_->errorMessage(connection_));
}

PostgresConnection::Wait PostgresConnection::wait(short events, Deadline deadline) const {
  for (;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd waited[] = {{interrupted_.get(), POLLIN, 0},
                       {connection_ == nullptr ? -1 : library_->socket(connection_), events, 0}};
    const int timeout_ms = static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1'000'000));
    const int count = ::poll(waited, 2, timeout_ms);
    if (count < 0 && errno == EINTR) continue;
    if (waited[0].revents != 0) return Wait::interrupted;
    if (count != 0) return Wait::ready;
    if (left.count() <= timeout_ms) return Wait::timed_out;
  }
}

// The messages of libpq on a connection string that it doesn't understand repeat it, and it may
// hold a password.
Stored<void> PostgresConnection::parse_hosts() {
  if (!hosts_.empty()) return {};
  const auto library = libpq_library();
  if (!library) return store_failure(StoreError::Kind::unsupported, library.error());
  library_ = *library;
  char* problem = nullptr;
  PQconninfoOption* const options = library_->conninfoParse(url_.c_str(), &problem);
  library_->freemem(problem);
  if (options == nullptr) {
    return store_failure(StoreError::Kind::unsupported,
                         "the URL of the shared log's database can't be understood: correct it");
  }
  const auto list = [&](const char* keyword) {
    for (const PQconninfoOption* option = options; option->keyword != nullptr; ++option) {
      if (std::strcmp(option->keyword, keyword) == 0) return split_list(option->val);
    }
    return std::vector<std::string>();
  };
  const auto names = list("host");
  const auto addresses = list("hostaddr");
  const auto ports = list("port");
  library_->conninfoFree(options);
  const auto part = [](const std::vector<std::string>& parts, std::size_t i) {
    return i < parts.size() ? parts[i] : std::string();
  };
  const std::size_t count = std::max({names.size(), addresses.size(), std::size_t{1}});
  for (std::size_t i = 0; i < count; ++i) {
    hosts_.push_back(
        {part(names, i), part(addresses, i), part(ports, ports.size() == 1 ? 0 : i), nullptr, {}});
  }
  return {};
}

// Whether the server has closed the connection meanwhile, as after a restart: a statement on it
// would have an unknown outcome for nothing.
bool PostgresConnection::is_lost() {
  if (library_->status(connection_) != CONNECTION_OK) return true;
  while (wait(POLLIN, Deadline()) == Wait::ready) {
    if (library_->consumeInput(connection_) == 0) return true;
    if (library_->status(connection_) != CONNECTION_OK) return true;
    // It closes a connection with a last message, and the end may come right behind it.
    pollfd again = {library_->socket(connection_), POLLIN, 0};
    if (::poll(&again, 1, 0) <= 0) break;
  }
  return false;
}

Stored<bool> PostgresConnection::connect(Deadline deadline) {
  if (wait(0, Deadline()) == Wait::interrupted) {
    close();
    return store_failure(StoreError::Kind::away, "the connection was interrupted");
  }
  if (connection_ != nullptr && !is_lost()) return false;
  finish();
  TRY(parse_hosts());
  std::string problems;
  std::size_t denied = 0;
  const std::size_t first = next_host_;
  for (std::size_t tried = 0; tried < hosts_.size(); ++tried) {
    next_host_ = (first + tried) % hosts_.size();
    const auto now = std::chrono::steady_clock::now();
    const auto share = (deadline - now) / static_cast<int>(hosts_.size() - tried);
    Problem problem = reach(hosts_[next_host_], now + share);
    if (problem.text.empty()) problem = set_up(now + share);
    if (problem.text.empty()) return true;
    finish();
    problems += (problems.empty() ? "" : "; ") + problem.text;
    denied += problem.is_denied ? 1 : 0;
  }
  // One that is being made anew may not know the role or the database yet.
  const bool all_deny = denied == hosts_.size();
  return store_failure(all_deny ? StoreError::Kind::denied : StoreError::Kind::away,
                       problems + connection_advice(problems));
}

// libpq tells the code of a refused connection in the text only, and there if it is to be verbose.
// A host may have been tried several times, at each of its addresses, with TLS and without.
PostgresConnection::Problem PostgresConnection::connection_problem(
    PostgresCertificates& certificates) const {
  Problem problem;
  std::string_view rest = library_->errorMessage(connection_);
  std::size_t tries = 0;
  std::size_t denials = library_->connectionNeedsPassword(connection_) != 0 ? 1 : 0;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    if (line.starts_with("LOCATION:")) continue;
    if (line.starts_with("connection to server")) ++tries;
    for (const std::string_view code : {":  28", ":  3D000"}) {
      if (line.find(code) != std::string_view::npos) ++denials;
    }
    problem.text += certificates.explained(line) + "\n";
  }
  problem.text = in_one_line(problem.text);
  problem.is_denied = denials > 0 && denials >= tries;
  return problem;
}

bool PostgresConnection::go_on(Host& host) {
  connection_ = std::exchange(host.begun, nullptr);
  const auto age = std::chrono::steady_clock::now() - host.begun_at;
  if (connection_ != nullptr && age < begun_connection_time_max) return true;
  finish();
  return false;
}

bool PostgresConnection::begin(Host& host) {
  host.begun_at = std::chrono::steady_clock::now();
  // What comes before `dbname` is for what the URL doesn't say, what comes after it is for all.
  // A network that swallows packets is noticed within a quarter minute, also by the server, which
  // has no part in the client's deadlines.
  std::vector<std::pair<const char*, const char*>> settings = {
      {"target_session_attrs", "read-write"},
      {"application_name", "signalbox"},
      {"keepalives_idle", "5"},
      {"keepalives_interval", "3"},
      {"keepalives_count", "3"},
      {"tcp_user_timeout", "15000"},
      {"dbname", url_.c_str()},
      {"client_encoding", "UTF8"}};
  if (hosts_.size() > 1) {
    settings.emplace_back("host", host.name.c_str());
    settings.emplace_back("hostaddr", host.address.c_str());
    settings.emplace_back("port", host.port.c_str());
  }
  std::vector<const char*> keywords;
  std::vector<const char*> texts;
  for (const auto& [keyword, text] : settings) {
    keywords.push_back(keyword);
    texts.push_back(text);
  }
  keywords.push_back(nullptr);
  texts.push_back(nullptr);
  connection_ = library_->connectStartParams(keywords.data(), texts.data(), 1);
  if (connection_ == nullptr) return false;
  library_->setErrorVerbosity(connection_, PQERRORS_VERBOSE);
  const auto receive_warning = [](void* self, const PGresult* notice) {
    auto& own = *static_cast<PostgresConnection*>(self);
    const auto field = [&](int name) { return error_field(*own.library_, notice, name); };
    if (field(PG_DIAG_SEVERITY_NONLOCALIZED) == "WARNING" ||
        field(PG_DIAG_SQLSTATE).substr(0, 2) == "01") {
      own.warning_ = in_one_line(field(PG_DIAG_MESSAGE_PRIMARY));
    }
  };
  library_->setNoticeReceiver(connection_, receive_warning, this);
  return true;
}

PostgresConnection::Problem PostgresConnection::reach(Host& host, Deadline deadline) {
  auto step = PGRES_POLLING_READING;  // the only one that is kept
  if (!go_on(host)) {
    step = PGRES_POLLING_WRITING;
    if (!begin(host)) return {"there is no memory for a connection", false};
  }
  PostgresCertificates certificates(*library_);
  if (library_->status(connection_) == CONNECTION_BAD) step = PGRES_POLLING_FAILED;
  while (step != PGRES_POLLING_OK) {
    if (step == PGRES_POLLING_FAILED) return connection_problem(certificates);
    const auto waited = wait(step == PGRES_POLLING_READING ? POLLIN : POLLOUT, deadline);
    if (waited != Wait::ready) {
      // Not while its network doesn't answer: a new attempt comes through sooner than one whose
      // pauses have grown.
      if (waited == Wait::timed_out && step == PGRES_POLLING_READING) {
        host.begun = std::exchange(connection_, nullptr);
      }
      const std::string place = host.name.empty() ? host.address : host.name;
      return {place + (place.empty() ? "the database" : "") +
                  (waited == Wait::interrupted ? ": interrupted" : " doesn't answer"),
              false};
    }
    certificates.note_session(connection_);
    step = library_->connectPoll(connection_);
  }
  return {};
}

PostgresAnswer PostgresConnection::run(Effect effect, const std::string& statement,
                                       const std::vector<PostgresValue>& values, Deadline deadline,
                                       Deadline latest) {
  PostgresAnswer answer;
  if (connection_ == nullptr) {
    answer.outcome = PostgresAnswer::Outcome::unsent;
    answer.message = "the database isn't connected";
    return answer;
  }
  std::vector<Oid> types;
  std::vector<const char*> bytes;
  std::vector<int> lengths;
  for (const PostgresValue& value : values) {
    types.push_back(value.type);
    bytes.push_back(value.bytes.data());
    lengths.push_back(static_cast<int>(value.bytes.size()));
  }
  const std::vector<int> formats(values.size(), 1);
  warning_.clear();
  const bool is_sent =
      library_->sendQueryParams(connection_, statement.c_str(), static_cast<int>(values.size()),
                                types.data(), bytes.data(), lengths.data(), formats.data(), 1);
  std::string problem = is_sent ? receive(answer, deadline, latest) : error_text();
  if (problem.empty() && effect == Effect::writes && !warning_.empty()) problem = warning_;
  if (problem.empty()) return answer;
  move_on();  // this host may hang, or have lost the others
  answer.outcome = PostgresAnswer::Outcome::unknown;
  answer.message = std::move(problem);
  answer.rows.clear();
  return answer;
}

std::string PostgresConnection::receive(PostgresAnswer& answer, Deadline deadline,
                                        Deadline latest) {
  const auto patience = deadline - std::chrono::steady_clock::now();
  for (;;) {
    const int unsent = library_->flush(connection_);
    if (unsent < 0) return error_text();
    if (unsent == 0 && library_->isBusy(connection_) == 0) {
      const OwnedResult result(library_->getResult(connection_), ResultClear{library_});
      if (!result) return library_->status(connection_) == CONNECTION_OK ? "" : error_text();
      const auto status = library_->resultStatus(result.get());
      if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
        answer.outcome = PostgresAnswer::Outcome::refused;
        answer.sqlstate = error_field(*library_, result.get(), PG_DIAG_SQLSTATE);
        answer.message = in_one_line(error_field(*library_, result.get(), PG_DIAG_MESSAGE_PRIMARY));
        if (answer.message.empty()) answer.message = error_text();
        if (leaves_in_doubt(error_field(*library_, result.get(), PG_DIAG_SEVERITY_NONLOCALIZED),
                            answer.sqlstate)) {
          return answer.message;
        }
      }
      const int columns = library_->nfields(result.get());
      for (int column = 0; column < columns; ++column) {
        answer.types.push_back(library_->ftype(result.get(), column));
      }
      for (int row = 0; row < library_->ntuples(result.get()); ++row) {
        std::vector<std::string> values;
        for (int column = 0; column < columns; ++column) {
          const int length = library_->getlength(result.get(), row, column);
          values.emplace_back(library_->getvalue(result.get(), row, column),
                              static_cast<std::size_t>(length));
        }
        answer.rows.emplace_back(std::move(values));
      }
      continue;
    }
    const short events = unsent > 0 ? POLLIN | POLLOUT : POLLIN;
    const Wait waited = wait(events, deadline);
    if (waited == Wait::interrupted) return "the connection was interrupted";
    if (waited == Wait::timed_out) return "the database doesn't answer in time";
    if (library_->consumeInput(connection_) == 0) return error_text();
    const Deadline renewed = std::min(latest, std::chrono::steady_clock::now() + patience);
    if (unsent == 0) deadline = std::max(deadline, renewed);
  }
}

}  // namespace signalbox
