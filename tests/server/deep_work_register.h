// A stub server for the worker of a deep_work station, on a Unix socket. It answers just enough for
// the worker to explore and finish: once an exploration is set, the plan is settled and its only
// step is completed.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <poll.h>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

namespace signalbox {

class DeepWorkRegister {
 public:
  explicit DeepWorkRegister(const std::filesystem::path& socket) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, socket.c_str(), sizeof address.sun_path - 1);
    listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(listener_, 16), 0);
    thread_ = std::thread([this] { serve(); });
  }
  DeepWorkRegister(const DeepWorkRegister&) = delete;
  DeepWorkRegister& operator=(const DeepWorkRegister&) = delete;
  ~DeepWorkRegister() {
    stopping_ = true;
    thread_.join();
    ::close(listener_);
  }

 private:
  bool readable(int descriptor) const {
    pollfd waiting{descriptor, POLLIN, 0};
    while (!stopping_) {
      if (::poll(&waiting, 1, 20) > 0) return true;
    }
    return false;
  }

  void serve() {
    while (readable(listener_)) {
      const int peer = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      std::string received;
      char buffer[4096];
      while (readable(peer)) {
        const ssize_t got = ::recv(peer, buffer, sizeof buffer, 0);
        if (got <= 0) break;
        received.append(buffer, static_cast<std::size_t>(got));
        for (std::size_t end = 0; (end = received.find('\n')) != std::string::npos;) {
          const std::string answer = answer_to(received.substr(0, end)) + "\n";
          received.erase(0, end + 1);
          (void)!::send(peer, answer.data(), answer.size(), MSG_NOSIGNAL);
        }
      }
      ::close(peer);
    }
  }

  std::string answer_to(const std::string& line) {
    const auto request = boost::json::parse(line).as_object();
    boost::json::object result{{"token", 42}};
    if (request.at("method") == "plan.set_exploration") explored_ = true;
    if (explored_) {
      result["plan_status"] = "set";
      result["settled"] = true;
      result["steps"] = boost::json::array{{{"id", "a"}, {"status", "completed"}}};
      result["todo_status"] = {{"total_steps", 1}, {"completed_steps", 1}, {"all_complete", true}};
    } else {
      result["plan_status"] = "exploring";
      result["todo_status"] = boost::json::object{};
    }
    return boost::json::serialize(
        boost::json::object{{"jsonrpc", "2.0"}, {"id", request.at("id")}, {"result", result}});
  }

  int listener_ = -1;
  std::atomic<bool> stopping_ = false;
  bool explored_ = false;
  std::thread thread_;
};

}  // namespace signalbox
