// Accepts connections on a Unix socket or a loopback TCP address and keeps their sessions.
#pragma once

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <tl/expected.hpp>

#include "server/socket/session.h"

namespace signalbox {

class Listener {
 public:
  Listener(boost::asio::io_context& io, Session::HandleLine handle_line);
  ~Listener();

  // Takes the path over from a server that is gone (the data directory's lock has told that no
  // other one lives), mode 0600. An error is a sentence.
  tl::expected<void, std::string> listen_unix(const std::filesystem::path& path);
  // "127.0.0.1:7070", "[::1]:7070". An address that isn't loopback is refused.
  tl::expected<std::string, std::string> listen_tcp(const std::string& address);

  // Accepts no more and lets the sessions end once they are answered.
  void finish();
  // Ends all sessions now.
  void close();
  [[nodiscard]] std::size_t sessions() const { return sessions_.size(); }

 private:
  class Acceptor;

  void add(Session::Socket socket, Caller caller);

  boost::asio::io_context& io_;
  Session::HandleLine handle_line_;
  std::vector<std::unique_ptr<Acceptor>> acceptors_;
  std::set<std::shared_ptr<Session>> sessions_;
};

}  // namespace signalbox
