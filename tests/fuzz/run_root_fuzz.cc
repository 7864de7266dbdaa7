// Files of a run root that others write: the lock file, and the declared result of a job.
#include "server/executors/declared_result.h"
#include "server/followers/run_root/lock_file.h"
#include "server/text/json_text.h"
#include "server/text/utf8_text.h"
#include "tests/fuzz/fuzz_target.h"

namespace signalbox {

void fuzz_run_root(std::string_view input) {
  const FoundLockFile lock = parse_lock_file(input);
  SIGNALBOX_CHECK(is_utf8(lock.owner));
  if (auto value = parse_json(input)) static_cast<void>(declared_result_from(std::move(*value)));
}

}  // namespace signalbox
