// The socket at which the jobs of a runner find the service: passes the bytes of each connection on
// to it. A job authenticates itself with its own token; the runner's isn't shown.
#pragma once

#include <condition_variable>
#include <filesystem>
#include <list>
#include <memory>
#include <mutex>
#include <thread>

#include "store/file_descriptor.h"
#include "tools/cli/server_address.h"
#include "tools/cli/server_connection.h"

namespace signalbox {

class JobRelay {
 public:
  // Listens on the Unix socket `path`, for this user alone, and replaces what is there.
  static Called<std::unique_ptr<JobRelay>> listen(const std::filesystem::path& path,
                                                  ServerAddress server);
  // Ends all connections.
  ~JobRelay();
  // Has later connections lead to this endpoint first: in a cell, only the active server takes
  // commands. Any thread.
  void put_first(const Endpoint& endpoint);
  JobRelay(const JobRelay&) = delete;
  JobRelay& operator=(const JobRelay&) = delete;

 private:
  struct Connection;

  JobRelay(FileDescriptor socket, ServerAddress server);
  void accept_all();
  void pass(Connection& connection);

  const FileDescriptor socket_;
  std::mutex mutex_;
  ServerAddress server_;
  std::condition_variable ended_;  // of a connection, or of all
  std::list<Connection> connections_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace signalbox
