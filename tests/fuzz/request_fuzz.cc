// Requests of the socket.
#include "server/rpc/request.h"
#include "server/text/json_text.h"
#include "tests/fuzz/fuzz_target.h"

namespace signalbox {

void fuzz_request(std::string_view input) {
  const auto request = read_request(input, {});
  if (!request) {
    // The id is repeated in the answer, so it must be JSON again.
    SIGNALBOX_CHECK(request.error().id_text.empty() || parse_json(request.error().id_text));
    return;
  }
  SIGNALBOX_CHECK(request->id_text.empty() || parse_json(request->id_text));
  SIGNALBOX_CHECK(request_digest(request->method, request->params) ==
                  request_digest(request->method, request->params));
}

}  // namespace signalbox
