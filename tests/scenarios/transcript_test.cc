// The protocol as a person would type it: each file of transcripts/ is a conversation with the real
// binary over its socket, with the server's answers written beside the requests.
//
//   # a comment
//   > {"method":"run.start","params":{…}}   a request, sent as JSON-RPC
//   < {…}                                   the answer: its result, or the error
//   = run result.run_id                     keeps the value at a path of the latest answer; later
//                                           lines name it as $run
//   ? {"method":…} path value               asked again until the answer has this value at the path
//   ! repository                            a new git repository, which later lines name as
//                                           $repository
//
// What differs each time is normalized: ids, times, digests, and kept values.
// SIGNALBOX_REWRITE_TRANSCRIPTS=1 writes the answers anew; read the difference before you keep it.
#include <cstdlib>
#include <fstream>

#include "tests/scenarios/conversation.h"

namespace signalbox {
namespace {

class Transcript : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Files, Transcript, testing::ValuesIn(transcript_names()),
                         [](const auto& each) { return each.param; });

TEST_P(Transcript, IsWhatTheServiceAnswers) {
  const auto file = transcripts / (GetParam() + ".txt");
  const std::string written = content_of(file);
  const std::string now = play_transcript(written);
  if (std::getenv("SIGNALBOX_REWRITE_TRANSCRIPTS") != nullptr) std::ofstream(file) << now;
  EXPECT_EQ(now, content_of(file));
}

}  // namespace
}  // namespace signalbox
