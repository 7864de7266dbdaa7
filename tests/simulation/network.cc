#include "tests/simulation/network.h"

#include <algorithm>
#include <list>

#include <boost/json/parse.hpp>

#include "tests/simulation/simulated_server.h"

namespace signalbox::simulation {

namespace {

// Covers the longest wait of a claim and the longest stall of a server.
constexpr std::int64_t answer_ns_max = 20 * ns_per_s;

std::int64_t usual_delay_ns(SeededRandom& random) { return random.between(50, 5000) * ns_per_us; }
// Up to minutes: the client may have asked again, given up, or forgotten.
std::int64_t late_delay_ns(SeededRandom& random) {
  return random.between(500, random.one_in(2) ? 5000 : 180'000) * ns_per_ms;
}

// A request about locks may arrive after the next acquire of the same owner, which has the same
// token, so that it would say what its owner no longer does.
bool may_be_late(const std::string& line) {
  return line.find(R"("method":"lock.re)") == std::string::npos &&
         line.find(R"("method":"lock.ac)") == std::string::npos;
}

}  // namespace

class Network::Connection final : public SimulatedPeer {
 public:
  Connection(Network& network, SimulatedServer& server, Recipient& recipient)
      : network_(network),
        environment_(network.environment_),
        server_(server),
        recipient_(recipient) {
    if (recipient.address().empty()) return;
    caller_.emplace();
    caller_->address = recipient.address();
  }

  [[nodiscard]] SimulatedServer& server() const { return server_; }
  [[nodiscard]] const std::optional<signalbox::Caller>& caller() const override { return caller_; }
  bool use_token(const Uuid& token_id) override {
    if (caller_) caller_->token_id = token_id;
    return caller_.has_value();
  }

  void asked(std::string id) {
    unanswered_.push_back({std::move(id), environment_.schedule.monotonic_ns()});
  }
  void examine() const {
    if (unanswered_.empty()) return;
    const Unanswered& oldest = unanswered_.front();
    environment_.expect(environment_.schedule.monotonic_ns() - oldest.since_ns < answer_ns_max,
                        "no answer to " + oldest.id);
  }

  void expect_answer(std::size_t) override {}
  void answer(std::string made, std::size_t) override {
    if (made.empty()) return;
    std::string line = network_.tampered(made);
    const bool is_present = !network_.is_present_ || network_.is_present_(&server_);
    const std::string id = network_.oracle_.answered(line, is_present);
    const auto place = std::find_if(unanswered_.begin(), unanswered_.end(),
                                    [&id](const Unanswered& each) { return each.id == id; });
    if (place == unanswered_.end()) return environment_.violate("a second answer to " + id);
    unanswered_.erase(place);
    environment_.note("answer " + line);
    if (closed_ || environment_.faults.strikes(Fault::reply_lost)) return;
    const int copies = environment_.faults.strikes(Fault::reply_repeated) ? 2 : 1;
    for (int copy = 0; copy < copies; ++copy) {
      const bool is_late = environment_.faults.strikes(Fault::reply_late);
      SeededRandom& random = environment_.random;
      environment_.schedule.after(is_late ? late_delay_ns(random) : usual_delay_ns(random), outside,
                                  [&recipient = recipient_, line] { recipient.receive(line); });
    }
  }
  void deliver(std::string line) override {
    network_.oracle_.delivered(line);
    if (closed_) return;
    recipient_.receive_event(line);
  }
  void keep_open() override {}
  [[nodiscard]] std::size_t outgoing_bytes() const override { return 0; }
  void on_drained(std::function<void()>) override {}
  void close_after_flush() override { closed_ = true; }
  [[nodiscard]] bool closed() const override { return closed_; }

 private:
  struct Unanswered {
    std::string id;
    std::int64_t since_ns;
  };

  Network& network_;
  Environment& environment_;
  SimulatedServer& server_;
  Recipient& recipient_;
  std::list<Unanswered> unanswered_;  // the oldest first
  std::optional<signalbox::Caller> caller_;
  bool closed_ = false;
};

void Network::connect(SimulatedServer* server) {
  server_ = server;
  for (auto& [client, connection] : connections_) connection->close_after_flush();
  connections_.clear();
}

void Network::disconnect(const SimulatedServer* server) {
  std::erase_if(connections_, [server](const auto& entry) {
    if (&entry.second->server() != server) return false;
    entry.second->close_after_flush();
    return true;
  });
}

void Network::examine() {
  for (const auto& [client, connection] : connections_) connection->examine();
}

std::string Network::tampered(const std::string& line) {
  if (environment_.mutant != Mutant::old_view_shown) return line;
  const std::string id(boost::json::parse(line).at("id").as_string());
  const SentCommand* sent = oracle_.book().find(id);
  if (sent == nullptr) return line;
  return old_views_.tampered_answer(environment_.mutant, sent->method, sent->params, line);
}

void Network::send(const std::string& client, Recipient& recipient, const std::string& line) {
  if (environment_.faults.strikes(Fault::connection_lost) && connections_.contains(client)) {
    connections_[client]->close_after_flush();
    connections_.erase(client);
  }
  if (environment_.faults.strikes(Fault::request_lost)) return;
  const int copies = environment_.faults.strikes(Fault::request_repeated) ? 2 : 1;
  for (int copy = 0; copy < copies; ++copy) {
    const bool is_late = may_be_late(line) && environment_.faults.strikes(Fault::request_late);
    SeededRandom& random = environment_.random;
    environment_.schedule.after(is_late ? late_delay_ns(random) : usual_delay_ns(random), outside,
                                [this, client, &recipient, line, is_late] {
                                  // What is late may undo what has come to rest since.
                                  if (is_late && environment_.faults.stopped()) return;
                                  deliver(client, recipient, line);
                                });
  }
}

void Network::deliver(const std::string& client, Recipient& recipient, const std::string& line) {
  SimulatedServer* const server = server_of_ ? server_of_(client) : server_;
  if (server == nullptr) return;
  environment_.note(client + " asks " + line);
  auto& connection = connections_[client];
  if (connection != nullptr && &connection->server() != server) {
    connection->close_after_flush();
    connection.reset();
  }
  if (connection == nullptr) connection = std::make_shared<Connection>(*this, *server, recipient);
  const std::string id(boost::json::parse(line).at("id").as_string());
  oracle_.arrived(id);
  connection->asked(id);
  server->receive(line, client, connection);
}

}  // namespace signalbox::simulation
