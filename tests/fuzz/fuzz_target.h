// What every fuzz target includes. A target is a source `<name>_fuzz.cc` that defines
// fuzz_<name>(), which is listed here and in entry_point.cc; tests/README.md describes how they are
// built and run.
#pragma once

#include <string_view>

#include "domain/check.h"

namespace signalbox {

// Pass `input`, any bytes, to the parser under test. Its properties are SIGNALBOX_CHECKs, because
// libFuzzer reports an abort, and keeps the input that caused it.
void fuzz_capsule(std::string_view input);
void fuzz_frame(std::string_view input);
void fuzz_horizon(std::string_view input);
void fuzz_http(std::string_view input);
void fuzz_json(std::string_view input);
void fuzz_note(std::string_view input);
void fuzz_payload(std::string_view input);
void fuzz_pipeline(std::string_view input);
void fuzz_policy(std::string_view input);
void fuzz_request(std::string_view input);
void fuzz_run_root(std::string_view input);
void fuzz_s3_answer(std::string_view input);
void fuzz_schedule(std::string_view input);
void fuzz_transcript(std::string_view input);
void fuzz_world(std::string_view input);

}  // namespace signalbox
