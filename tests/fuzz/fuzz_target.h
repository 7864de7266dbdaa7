// What every fuzz target includes. A target is a source `<name>_fuzz.cc` that defines
// fuzz_one_input(); tests/README.md describes how they are built and run.
#pragma once

#include <string_view>

#include "domain/check.h"

namespace signalbox {

// Passes `input`, any bytes, to the parser under test. Its properties are SIGNALBOX_CHECKs, because
// libFuzzer reports an abort, and keeps the input that caused it.
void fuzz_one_input(std::string_view input);

}  // namespace signalbox
