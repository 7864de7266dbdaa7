// Takes jobs and does nothing with them, for tests that end these themselves.
#pragma once

#include <string>

#include "server/scheduler/job_runner.h"

namespace signalbox {

class UnusedRunner final : public JobRunner {
 public:
  void track(Job) override {}
  void cancel(const std::string&) override {}
};

}  // namespace signalbox
