#include "server/transport/tls_relay.h"

#include <poll.h>
#include <sys/resource.h>

#include <array>
#include <chrono>
#include <csignal>
#include <memory>
#include <utility>

#include <openssl/ssl.h>
#include <boost/asio/local/connect_pair.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>

#include "server/limits.h"
#include "store/file_descriptor.h"

namespace signalbox {
namespace {

namespace asio = boost::asio;
using Socket = OpenConnection::Socket;

// Small, because every connection has two such buffers.
constexpr std::size_t relayed_bytes = 4 * 1024;
constexpr int handshake_niceness = 10;

// Copies between the TLS connection (outer) and the plain end of the socket pair (inner).
class TlsRelay : public std::enable_shared_from_this<TlsRelay> {
 public:
  TlsRelay(Socket outer, Socket inner, TlsContext context)
      : context_(std::move(context)),
        outer_(std::move(outer), *context_),
        inner_(std::move(inner)),
        deadline_(inner_.get_executor()),
        next_look_(inner_.get_executor()) {
    SSL_set_mode(outer_.native_handle(), SSL_MODE_RELEASE_BUFFERS);
  }

  void start() {
    close_after(tls_handshake_ms_max);
    outer_.async_handshake(asio::ssl::stream_base::server,
                           [self = shared_from_this()](const boost::system::error_code& error) {
                             self->deadline_.cancel();
                             if (error || self->closed_) return self->close();
                             self->is_open_ = true;
                             self->read_outer();
                           });
    read_inner();  // before the handshake is done, the only possible input is end of file
  }

 private:
  void close_after(std::int64_t ms) {
    deadline_.expires_after(std::chrono::milliseconds(ms));
    deadline_.async_wait([weak = weak_from_this()](const boost::system::error_code& stopped) {
      if (const auto self = weak.lock(); self && !stopped) self->close();
    });
  }

  void read_outer() {
    outer_.async_read_some(
        asio::buffer(from_outer_),
        [self = shared_from_this()](const boost::system::error_code& error, std::size_t bytes) {
          if (self->closed_) return;
          if (error == asio::error::eof) return self->end_inner();
          // Without close_notify the input may be truncated, so it isn't passed on as its end.
          if (error) return self->close();
          self->write_inner(bytes);
        });
  }

  void write_inner(std::size_t bytes) {
    asio::async_write(
        inner_, asio::buffer(from_outer_.data(), bytes),
        [self = shared_from_this()](const boost::system::error_code& error, std::size_t) {
          if (self->closed_) return;
          if (error) return self->close();
          self->read_outer();
        });
  }

  void end_inner() {
    boost::system::error_code ignored;
    inner_.shutdown(Socket::shutdown_send, ignored);
  }

  void read_inner() {
    inner_.async_read_some(
        asio::buffer(from_inner_),
        [self = shared_from_this()](const boost::system::error_code& error, std::size_t bytes) {
          if (self->closed_) return;
          if (error) return self->end_outer();
          self->write_outer(bytes);
        });
  }

  void write_outer(std::size_t bytes) {
    ++writes_;
    is_writing_ = true;
    asio::async_write(
        outer_, asio::buffer(from_inner_.data(), bytes),
        [self = shared_from_this()](const boost::system::error_code& error, std::size_t) {
          self->is_writing_ = false;
          if (self->closed_) return;
          if (error) return self->close();
          self->read_inner();
        });
    look_later();
  }

  // A peer that doesn't read holds a write for as long as it likes, and as long as that is under
  // way nobody reads the plain end, so its end isn't seen either. A look now and then costs those
  // who read nothing.
  void look_later() {
    if (std::exchange(has_next_look_, true)) return;
    next_look_.expires_after(std::chrono::milliseconds(tls_close_ms_max));
    next_look_.async_wait(
        [weak = weak_from_this(), writes = writes_](const boost::system::error_code& stopped) {
          const auto self = weak.lock();
          if (!self || stopped) return;
          self->has_next_look_ = false;
          if (self->closed_ || !self->is_writing_) return;
          if (self->writes_ == writes && self->is_inner_gone()) return self->close();
          self->look_later();
        });
  }

  // Returns whether the plain end was closed, not only ended.
  [[nodiscard]] bool is_inner_gone() {
    pollfd look{inner_.native_handle(), 0, 0};
    return ::poll(&look, 1, 0) == 1 && (look.revents & (POLLHUP | POLLERR)) != 0;
  }

  void end_outer() {
    if (!is_open_) return close();  // there is nothing to say goodbye to
    close_after(tls_close_ms_max);
    outer_.async_shutdown(
        [self = shared_from_this()](const boost::system::error_code&) { self->close(); });
  }

  void close() {
    if (std::exchange(closed_, true)) return;
    boost::system::error_code ignored;
    deadline_.cancel();
    next_look_.cancel();
    outer_.next_layer().close(ignored);
    inner_.close(ignored);
  }

  TlsContext context_;
  asio::ssl::stream<Socket> outer_;
  Socket inner_;
  asio::steady_timer deadline_;
  asio::steady_timer next_look_;
  std::array<char, relayed_bytes> from_outer_{};
  std::array<char, relayed_bytes> from_inner_{};
  std::uint64_t writes_ = 0;  // to the outer end, so far
  bool is_writing_ = false;
  bool has_next_look_ = false;
  bool is_open_ = false;  // the handshake is done
  bool closed_ = false;
};

}  // namespace

TlsThread::TlsThread() : work_(io_.get_executor()), thread_([this] { run(); }) {}

TlsThread::~TlsThread() {
  work_.reset();
  const auto drained = ended_.get_future().wait_for(std::chrono::milliseconds(tls_drain_ms_max));
  if (drained != std::future_status::ready) io_.stop();
  thread_.join();
}

void TlsThread::run() {
  // Signals are for the threads that expect them.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  // On Linux this sets the priority of the calling thread only.
  (void)::setpriority(PRIO_PROCESS, 0, handshake_niceness);
  io_.run();
  ended_.set_value();
}

tl::expected<Socket, std::string> TlsThread::start(Socket outer, TlsContext context,
                                                   asio::io_context& io) {
  boost::system::error_code error;
  asio::local::stream_protocol::socket inner(io_);
  asio::local::stream_protocol::socket plain(io);
  asio::local::connect_pair(inner, plain, error);
  if (error) return tl::unexpected(error.message());
  const auto protocol = outer.local_endpoint(error).protocol();
  if (error) return tl::unexpected(error.message());
  FileDescriptor descriptor(outer.release(error));
  if (error) return tl::unexpected(error.message());
  Socket moved(io_);
  moved.assign(protocol, descriptor.get(), error);
  if (error) return tl::unexpected(error.message());
  (void)descriptor.release();  // the socket's now
  auto relay =
      std::make_shared<TlsRelay>(std::move(moved), Socket(std::move(inner)), std::move(context));
  asio::post(io_, [relay = std::move(relay)] { relay->start(); });
  return Socket(std::move(plain));
}

}  // namespace signalbox
