# Writes the source with the version of the program (program_version.h), if that has changed:
#
#   cmake -DSOURCES=. -DVERSION=0.1.0 -DOUTPUT=program_version.cc -P program_version.cmake
cmake_minimum_required(VERSION 3.25)

# Without git, or in a repository whose owner it doesn't trust, the project's version has to do.
execute_process(COMMAND git -C ${SOURCES} describe --always --abbrev=12 --exclude=* --dirty=.modified
  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failure)
if(NOT failure)
  string(APPEND VERSION "+${commit}")
endif()

file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT [[
// Written by server/platform/program_version.cmake.
#include "server/platform/program_version.h"

namespace signalbox {

const std::string& program_version() {
  static const std::string version = "@VERSION@";
  return version;
}

}  // namespace signalbox
]])
