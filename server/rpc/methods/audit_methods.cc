// `audit.*`: the public key with which the log's checkpoints are verified.
#include "server/rpc/command_call.h"
#include "server/rpc/methods/families.h"
#include "store/signed_note.h"

namespace signalbox {
namespace {

namespace json = boost::json;

json::object adopt_result(const Api&, std::span<const Record> records) {
  json::object result;
  result["adopted"] = false;
  for (const Record& record : records) {
    if (const auto* adopted = event_as<AuditKeyAdopted>(record.event)) {
      result["adopted"] = true;
      result["name"] = adopted->name;
      result["verifier_key"] = adopted->verifier_key;
      result["previous"] = adopted->previous;
      result["adopted_position"] = record.position;
    }
  }
  return result;
}

void adopt_key(Api& api, Call& call) {
  auto command = from_json<AdoptAuditKey>(call.params);
  if (!command) return call.responder.reject(command.error());
  const auto verifier = parse_verifier(command->verifier_key);
  if (!verifier) {
    return call.responder.reject({ErrorCode::INVALID_PARAMS,
                                  "verifier_key must be what `signalbox audit keygen` prints: "
                                  "NAME+ID+KEY of an Ed25519 key",
                                  {{"field", std::string("verifier_key")}},
                                  {"signalbox audit keygen --help"}});
  }
  command->name = verifier->name;
  apply_command(api, call, *command, adopt_result);
}

}  // namespace

std::vector<Method> audit_methods() {
  return {
      {"audit.adopt_key", true, Role::admin, field_names<AdoptAuditKey>(), adopt_key},
  };
}

}  // namespace signalbox
