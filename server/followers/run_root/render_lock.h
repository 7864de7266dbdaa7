// A held lock as `.lock`, schema `lock.v1`.
#pragma once

#include <string>

#include "server/followers/run_root/run_root_state.h"

namespace signalbox {

std::string lock_file_text(const MirroredLock& lock);

}  // namespace signalbox
