// Fixture for tests of the transport: a listener with both protocols in front of the in-memory
// service (rpc_site.h), on a thread of its own.
#pragma once

#include <future>
#include <thread>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "server/transport/listener.h"
#include "tests/scenarios/child_process.h"
#include "tests/scenarios/http_client.h"
#include "tests/server/rpc_site.h"

namespace signalbox {

class HttpSite {
 public:
  // Runs `action` on the service's thread, the only one that may use `rpc`, and returns its result.
  // Blocks.
  template <class F>
  auto on_thread(F action) {
    std::promise<decltype(action())> result;
    boost::asio::post(io_, [&] { result.set_value(action()); });
    return result.get_future().get();
  }
  // `adjust` may change the service before the listener gets it.
  explicit HttpSite(const std::function<void(HttpService&)>& adjust = {}) {
    HttpService service{{}, {}, {}, {at_once, at_once}, {at_once, at_once}, HostRule()};
    service.handle_line = [this](std::string_view line, const Caller& caller,
                                 const std::shared_ptr<Peer>& peer) {
      rpc.dispatcher.handle(line, {caller.actor(), Role::admin}, peer);
      boost::asio::post(io_, [this] { rpc.commit_all(); });
    };
    service.handle_request = [handle = service.handle_line](
                                 std::string_view line, const Caller& caller,
                                 std::optional<std::string_view>,
                                 const std::shared_ptr<Peer>& peer) { handle(line, caller, peer); };
    service.not_ready = [this] { return not_ready; };
    if (adjust) adjust(service);
    listener_ = std::make_unique<Listener>(io_, std::move(service));
    if (auto ok = listener_->listen_unix(socket()); !ok) throw std::runtime_error(ok.error());
    port_ = static_cast<std::uint16_t>(
        std::stoi(listener_->listen_tcp("127.0.0.1:0").value().substr(sizeof "127.0.0.1")));
    thread_ = std::thread([this] { io_.run(); });
  }
  ~HttpSite() {
    on_thread([this] {
      listener_->finish();
      listener_->close();
      return 0;
    });
    work_.reset();
    io_.stop();
    thread_.join();
  }

  [[nodiscard]] std::filesystem::path socket() const { return directory_.path() / "s"; }
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] HttpClient client() const { return HttpClient(socket()); }
  std::size_t connections() {
    return on_thread([this] { return listener_->connections(); });
  }
  bool is_answering() {
    return on_thread([this] { return listener_->is_answering(); });
  }
  void finish() {
    on_thread([this] {
      listener_->finish();
      return 0;
    });
  }

 private:
  TemporaryDirectory directory_;
  boost::asio::io_context io_;  // outlives the peers that wait in `rpc`

 public:
  RpcSite rpc;
  std::optional<Rejection> not_ready;

 private:
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{
      io_.get_executor()};
  std::unique_ptr<Listener> listener_;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

}  // namespace signalbox
