// The socket at which the jobs of a runner find the service: passes the bytes of each connection on
// to it. A job authenticates itself with its own token; the runner's isn't shown. Each job has a
// share of the connections, so that none keeps the others from the service.
#pragma once

#include <condition_variable>
#include <deque>
#include <filesystem>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "store/file_descriptor.h"
#include "tools/cli/server_address.h"
#include "tools/cli/server_connection.h"

namespace signalbox {

class JobRelay {
 public:
  // Listens on the Unix socket `path`, for this user alone, and replaces what is there. `jobs` has
  // the directories of the jobs.
  static Called<std::unique_ptr<JobRelay>> listen(const std::filesystem::path& path,
                                                  ServerAddress server, std::filesystem::path jobs);
  // Ends all connections.
  ~JobRelay();
  // Has later connections lead to this endpoint first: in a cell, only the active server takes
  // commands. Any thread.
  void put_first(const Endpoint& endpoint);
  JobRelay(const JobRelay&) = delete;
  JobRelay& operator=(const JobRelay&) = delete;

 private:
  struct Connection;

  JobRelay(FileDescriptor socket, ServerAddress server, std::filesystem::path jobs);
  void accept_all();
  [[nodiscard]] bool has_place_for(const std::string& job_id) const;  // requires mutex_
  void refuse(FileDescriptor job);
  void pass(Connection& connection);

  const FileDescriptor socket_;
  const std::filesystem::path jobs_;
  std::mutex mutex_;
  ServerAddress server_;
  std::condition_variable ended_;  // of a connection, or of all
  std::list<Connection> connections_;
  std::deque<FileDescriptor> refused_;  // thread_ only: the latest, until they have their answer
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace signalbox
