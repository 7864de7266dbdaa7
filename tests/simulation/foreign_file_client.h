// Another process that uses locks and markers by their files alone, without the service, and
// sometimes leaves files that can't be parsed. L4 T4
#pragma once

#include <string>

#include "tests/simulation/client.h"

namespace signalbox::simulation {

class ForeignFileClient final : public Client {
 public:
  using Client::Client;

  void begin() override { later(between(100, 5000), &ForeignFileClient::act); }

 private:
  void act();
  void put_lock();
  void put_marker();
  // Removes the file when its time has come, or at once when everything has to come to rest.
  void remove_foreign_file();

  std::string path_;  // the file that was put, or empty
  std::int64_t until_ns_ = 0;
};

}  // namespace signalbox::simulation
