// What people see of runners and decide about them, for the table of `runner.*`.
#pragma once

#include <optional>
#include <string>

#include <boost/describe/class.hpp>

#include "server/rpc/method.h"

namespace signalbox {

struct RunnerParts;

struct NamedRunner {
  std::string runner;
};
BOOST_DESCRIBE_STRUCT(NamedRunner, (), (runner))

struct DrainRunner {
  std::string runner;
  std::optional<bool> drains;  // default: true
};
BOOST_DESCRIBE_STRUCT(DrainRunner, (), (runner, drains))

void list_runners(Api& api, Call& call, RunnerParts& parts);
void get_runner(Api& api, Call& call, RunnerParts& parts);
void drain_runner(Api& api, Call& call, RunnerParts& parts);
void evict_runner(Api& api, Call& call, RunnerParts& parts);

}  // namespace signalbox
