// Clients that keep the files in run roots moving: loops with ticks, locks with a mirror, and runs
// whose stations succeed, fail and time out. They go on over every kill of the server, and can be
// told to hold still.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <boost/json/object.hpp>

#include "tests/crash/connection.h"

namespace signalbox::test {

class RunRootLoad {
 public:
  struct Run {
    std::filesystem::path root;
    bool ended = false;  // and acknowledged so: all of its files must be there
  };

  // `roots` is where the run roots are made. Starts one run for each of `lanes`, whose root the
  // tick and the lock of that lane use, and the clients; the server must answer.
  RunRootLoad(std::filesystem::path socket, std::filesystem::path roots, std::size_t lanes,
              std::uint64_t seed);
  ~RunRootLoad();

  // Returns when no client has a word under way.
  void hold();
  void go_on();

  // Every run that was started, as the clients know it, by its id.
  [[nodiscard]] std::map<std::string, Run> runs() const;
  // Words that were answered with a result.
  [[nodiscard]] std::size_t taken() const;

 private:
  struct Client {
    std::mt19937_64 random;
    std::optional<Connection> connection;
    std::string lane;
    std::string lane_run;
    std::optional<boost::json::value> tick;  // tokens of what it holds
    std::optional<boost::json::value> lock;
    std::string run_id;  // of its own
    std::size_t runs = 0;
  };
  using Step = void (RunRootLoad::*)(Client& client);

  void start_client(Step step, std::size_t lane, std::uint64_t seed);
  void run_client(Step step, Client client);
  // True if the clients are to go on.
  bool may_go_on();
  // Gives the result; of a refusal its code in `code`. Empty, with no code, if the server is gone.
  boost::json::object call(Client& client, const char* method, boost::json::object params,
                           std::string* code = nullptr);

  void tick_step(Client& client);
  void lock_step(Client& client);
  void run_step(Client& client);
  void start_run(Client& client);
  void attempt(Client& client);

  const std::filesystem::path socket_;
  const std::filesystem::path roots_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool held_ = false;
  bool stopping_ = false;
  std::size_t still_ = 0;  // clients that wait
  std::size_t taken_ = 0;
  std::map<std::string, Run> runs_;
  std::vector<std::string> lane_runs_;
  std::vector<std::thread> threads_;
};

}  // namespace signalbox::test
