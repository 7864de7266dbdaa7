#include "server/transport/tls_relay.h"

#include <array>
#include <chrono>
#include <memory>
#include <utility>

#include <boost/asio/local/connect_pair.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>

#include "server/limits.h"

namespace signalbox {
namespace {

namespace asio = boost::asio;
using Socket = OpenConnection::Socket;

constexpr std::size_t relayed_bytes = 16 * 1024;  // the largest TLS record

// Copies between the TLS connection (outer) and the plain end of the socket pair (inner).
class TlsRelay : public std::enable_shared_from_this<TlsRelay> {
 public:
  TlsRelay(Socket outer, Socket inner, TlsContext context)
      : context_(std::move(context)),
        outer_(std::move(outer), *context_),
        inner_(std::move(inner)),
        deadline_(inner_.get_executor()) {}

  void start() {
    close_after(tls_handshake_ms_max);
    outer_.async_handshake(asio::ssl::stream_base::server,
                           [self = shared_from_this()](const boost::system::error_code& error) {
                             self->deadline_.cancel();
                             if (error || self->closed_) return self->close();
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
    asio::async_write(
        outer_, asio::buffer(from_inner_.data(), bytes),
        [self = shared_from_this()](const boost::system::error_code& error, std::size_t) {
          if (self->closed_) return;
          if (error) return self->close();
          self->read_inner();
        });
  }

  void end_outer() {
    close_after(tls_close_ms_max);
    outer_.async_shutdown(
        [self = shared_from_this()](const boost::system::error_code&) { self->close(); });
  }

  void close() {
    if (std::exchange(closed_, true)) return;
    boost::system::error_code ignored;
    deadline_.cancel();
    outer_.next_layer().close(ignored);
    inner_.close(ignored);
  }

  TlsContext context_;
  asio::ssl::stream<Socket> outer_;
  Socket inner_;
  asio::steady_timer deadline_;
  std::array<char, relayed_bytes> from_outer_{};
  std::array<char, relayed_bytes> from_inner_{};
  bool closed_ = false;
};

}  // namespace

tl::expected<Socket, std::string> start_tls(Socket outer, TlsContext context) {
  boost::system::error_code error;
  asio::local::stream_protocol::socket inner(outer.get_executor());
  asio::local::stream_protocol::socket plain(outer.get_executor());
  asio::local::connect_pair(inner, plain, error);
  if (error) return tl::unexpected(error.message());
  std::make_shared<TlsRelay>(std::move(outer), Socket(std::move(inner)), std::move(context))
      ->start();
  return Socket(std::move(plain));
}

}  // namespace signalbox
