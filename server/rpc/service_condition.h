// What in the service itself needs a person: the kinds of conditions that the inbox lists, the
// console's page shows and a metric counts.
#pragma once

#include <cstdint>

#include <boost/describe/enum.hpp>

namespace signalbox {

// Also the first part of an item's name, and a label of a metric.
enum class ServiceCondition : std::uint8_t {
  storage_full,
  read_models,   // damaged ones are computed anew
  disk_failure,  // a source can't write its files
  run_root,
  retention,
  redaction,  // files may have a text that was redacted
  file_retention,
  settings,  // the latest reload was refused
  certificate,
  loop,  // one of the service is overdue
  artifact_store,
  cell,
  listen,   // the address is taken, or not there
  runners,  // work waits for one, and none suits
};
BOOST_DESCRIBE_ENUM(ServiceCondition, storage_full, read_models, disk_failure, run_root, retention,
                    redaction, file_retention, settings, certificate, loop, artifact_store, cell,
                    listen, runners)

}  // namespace signalbox
