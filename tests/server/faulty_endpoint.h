// An HTTP server on loopback that injects faults chosen by a test; a derived class answers the
// other requests.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

namespace signalbox::test {

class FaultyEndpoint {
 public:
  // The fault of the next request with this HTTP method.
  struct Fault {
    std::string method;
    unsigned status = 0;                // response status; 0: as handle() sets it
    std::string body = {};              // response body, if `status` is set
    unsigned retry_after_s = 0;         // Retry-After header, if `status` is set; 0: none
    bool take_effect = false;           // with `status`: call handle() nevertheless
    bool cut = false;                   // close the connection without a response
    bool hang = false;                  // send no response; wait until the client disconnects
    bool redirect = false;              // respond 303 to the same target with ?again=1
    std::chrono::milliseconds slow{0};  // delay before the second half of the body
  };

  // `port` 0 means any free port.
  explicit FaultyEndpoint(unsigned short port = 0)
      : acceptor_(io_, {boost::asio::ip::address_v4::loopback(), port}) {}
  virtual ~FaultyEndpoint() = default;
  FaultyEndpoint(const FaultyEndpoint&) = delete;
  FaultyEndpoint& operator=(const FaultyEndpoint&) = delete;

  [[nodiscard]] unsigned short port() const { return acceptor_.local_endpoint().port(); }
  void fail_next(Fault fault) {
    const std::lock_guard lock(mutex_);
    faults_.push_back(std::move(fault));
  }
  void clear_faults() {
    const std::lock_guard lock(mutex_);
    faults_.clear();
  }
  [[nodiscard]] std::size_t faults_left() {
    const std::lock_guard lock(mutex_);
    return faults_.size();
  }
  [[nodiscard]] int requests(const std::string& method) {
    const std::lock_guard lock(mutex_);
    return requests_[method];
  }

 protected:
  using Request = boost::beast::http::request<boost::beast::http::string_body>;
  using Response = boost::beast::http::response<boost::beast::http::string_body>;

  // Answers a request. Called on a connection's thread.
  virtual Response handle(const Request& request, const std::string& method) = 0;

  // The last call of the derived class's constructor is begin(), the first of its destructor end().
  void begin() {
    thread_ = std::thread([this] { serve(); });
  }
  void end() {
    stopping_ = true;
    boost::system::error_code ignored;
    boost::asio::ip::tcp::socket last(io_);  // wakes accept()
    last.connect(acceptor_.local_endpoint(), ignored);
    thread_.join();
    for (std::thread& each : connections_) each.join();
  }

  std::mutex mutex_;

 private:
  using Socket = boost::asio::ip::tcp::socket;

  void serve() {
    while (!stopping_) {
      Socket socket(io_);
      boost::system::error_code error;
      acceptor_.accept(socket, error);
      if (error || stopping_) continue;
      connections_.emplace_back([this, own = std::move(socket)]() mutable { answer(own); });
    }
  }

  void answer(Socket& socket) {
    namespace http = boost::beast::http;
    boost::beast::flat_buffer buffer;
    Request request;
    boost::system::error_code error;
    http::read(socket, buffer, request, error);
    if (error) return;
    const std::string method(request.method_string());
    const std::optional<Fault> fault = next_fault(method);
    Response response;
    if (!fault || fault->take_effect || fault->status == 0) response = handle(request, method);
    if (fault && fault->cut) return;
    if (fault && fault->hang) {
      char byte = 0;
      socket.read_some(boost::asio::buffer(&byte, 1),
                       error);  // returns when the client disconnects
      return;
    }
    if (fault && fault->redirect) {
      response.result(303);
      response.set(http::field::location, std::string(request.target()) + "?again=1");
      response.body().clear();
    }
    if (fault && fault->status != 0) {
      response.result(fault->status);
      response.body() = fault->body;
      if (fault->retry_after_s > 0) {
        response.set(http::field::retry_after, std::to_string(fault->retry_after_s));
      }
    }
    response.keep_alive(false);
    response.prepare_payload();
    if (!fault || fault->slow.count() == 0) {
      http::write(socket, response, error);
      return;
    }
    std::ostringstream text;
    text << response;
    const std::string whole = text.str();
    const std::size_t first = whole.size() - response.body().size() / 2;
    boost::asio::write(socket, boost::asio::buffer(whole.data(), first), error);
    std::this_thread::sleep_for(fault->slow);
    boost::asio::write(socket, boost::asio::buffer(whole.data() + first, whole.size() - first),
                       error);
  }

  std::optional<Fault> next_fault(const std::string& method) {
    const std::lock_guard lock(mutex_);
    ++requests_[method];
    if (faults_.empty() || faults_.front().method != method) return std::nullopt;
    Fault fault = faults_.front();
    faults_.pop_front();
    return fault;
  }

  boost::asio::io_context io_;
  boost::asio::ip::tcp::acceptor acceptor_;
  std::thread thread_;
  std::vector<std::thread> connections_;  // serve()'s thread only, until that has ended
  std::atomic<bool> stopping_ = false;
  std::deque<Fault> faults_;
  std::map<std::string, int> requests_;
};

}  // namespace signalbox::test
