#pragma once

#include "server/rpc/method.h"
#include "server/rpc/methods/families.h"

namespace signalbox {

// Returns `loop.plan_files`, which says what a round of the file retention would remove now.
Method plan_files_method(const PlanFiles& plan_files);

}  // namespace signalbox
