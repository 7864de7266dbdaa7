// Clients that keep the files in run roots changing: loops with ticks, locks with a mirror file,
// and runs whose stations succeed, fail and time out. They continue after every kill of the server,
// and can be suspended.
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
    bool ended = false;  // its end was acknowledged, so all of its files must exist
  };

  // Creates run roots below `roots`. Starts the clients, and for each of `lanes` one run, whose
  // root the lane's tick and lock use. The server must answer.
  RunRootLoad(std::filesystem::path socket, std::filesystem::path roots, std::size_t lanes,
              std::uint64_t seed);
  ~RunRootLoad();

  // Suspends the clients; blocks until none has a request in progress.
  void hold();
  // Resumes the clients.
  void go_on();

  // Returns every run that was started, by id, as the clients know it.
  [[nodiscard]] std::map<std::string, Run> runs() const;
  // Returns the number of requests that were answered with a result.
  [[nodiscard]] std::size_t taken() const;

 private:
  struct Client {
    std::mt19937_64 random;
    std::optional<Connection> connection;
    std::string lane;
    std::string lane_run;
    std::optional<boost::json::value> tick;  // token of the tick in progress
    // Token of the held lock.
    std::optional<boost::json::value> lock;
    std::string run_id;  // of the run that the client executes
    std::size_t runs = 0;
  };
  using Step = void (RunRootLoad::*)(Client& client);

  void start_client(Step step, std::size_t lane, std::uint64_t seed);
  void run_client(Step step, Client client);
  // Blocks while the clients are suspended. Returns false if they must end.
  bool wait_while_suspended();
  // Sends a request and returns its result. If it is refused, returns an empty object and sets
  // `code`; if the server is gone, returns an empty object and leaves `code` as it is.
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
  bool suspended_ = false;
  bool stopping_ = false;
  std::size_t waiting_clients_ = 0;  // number of clients that wait in wait_while_suspended()
  std::size_t taken_ = 0;
  std::map<std::string, Run> runs_;
  std::vector<std::string> lane_runs_;
  std::vector<std::thread> threads_;
};

}  // namespace signalbox::test
