// `audit.*`: the key that signs the log's tree, signed checkpoints of it, and the tiles from which
// others compute proofs.
#include <utility>

#include "server/limits.h"
#include "server/rpc/askers.h"
#include "server/rpc/command_call.h"
#include "server/rpc/methods/families.h"
#include "server/rpc/read_models.h"
#include "server/scheduler/retention_settings.h"
#include "store/base64.h"
#include "store/log_tiles.h"
#include "store/signed_note.h"
#include "store/tree_head.h"

namespace signalbox {

namespace {

namespace json = boost::json;

struct ReadAuditTile {
  std::string path;  // "0/x001/234.p/12", as a URL of c2sp.org/tlog-tiles has it behind `tile/`
};
BOOST_DESCRIBE_STRUCT(ReadAuditTile, (), (path))

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

// Which key, and that it is missing, is in the log of the service; a client may only know that.
Rejection not_signed(const std::string& why) {
  return {ErrorCode::NOT_ALLOWED,
          "this service signs no checkpoints: " + why,
          {{"setting", std::string("audit_key")}},
          {"signalbox audit keygen --help"}};
}

Decided<json::object> signed_checkpoint(const AuditParts& parts) {
  if (parts.key.empty()) return tl::unexpected(not_signed("the setting audit_key is missing"));
  const auto signer = signer_in(parts.key);
  if (!signer) return tl::unexpected(not_signed("its audit_key can't be read any more"));
  const auto tree = parts.tiles->tree();
  if (!tree) return unreadable(tree.error());
  if (!*tree) {
    return reject(ErrorCode::OVERLOADED, "the log's tree is still being read; try again soon", {},
                  {"signalbox status"});
  }
  Sha256 sha256;
  const TreeHead head{signer->verifier().name, (*tree)->leaves, merkle_root(**tree, sha256)};
  json::object result;
  result["checkpoint"] = sign_note(tree_head_text(head), std::span(&*signer, 1));
  result["verifier_key"] = signer->verifier().text();
  result["size"] = head.size;
  result["root"] = to_hex(head.root);
  return result;
}

Decided<json::object> tile_content(const AuditParts& parts, const TilePath& tile) {
  const auto bytes = parts.tiles->read(tile);
  if (!bytes && bytes.error().kind == StoreError::Kind::not_found) {
    return reject(ErrorCode::POSITION_NOT_FOUND, bytes.error().message, {{"path", tile_path(tile)}},
                  {"signalbox status"});
  }
  if (!bytes) return unreadable(bytes.error());
  json::object result;
  result["path"] = tile_path(tile);
  result["content"] = to_base64(*bytes);
  return result;
}

Rejection too_many_tiles() {
  return {ErrorCode::OVERLOADED,
          "you wait for many checkpoints and tiles already, or the log's disk doesn't answer: try "
          "again",
          {{"lane_waiting_max", static_cast<std::int64_t>(limits::lane_waiting_max)}},
          {"signalbox status"}};
}

// Answers with what `read` returns, which blocks on the log.
void answer_from_tiles(Api& api, Call& call, const AuditParts& parts,
                       std::function<Decided<json::object>(const AuditParts& parts)> read) {
  if (!parts.tiles) return call.responder.reject(not_signed("its log isn't on a disk"));
  // Callers take turns: the entries of 256 large records take long, and many may be asked for.
  Lane lane{.name = "tiles for " + call.origin.actor,
            .unwanted = parts.askers->add(call.responder.peer())};
  lane.failed = [responder = call.responder](LaneFailure) { responder.reject(too_many_tiles()); };
  const BlockingPool& pool = parts.pool ? *parts.pool : api.log_readers;
  pool.run(
      std::move(lane),
      [&api, responder = call.responder, parts, read = std::move(read)]() -> std::function<void()> {
        auto outcome = read(parts);
        const Position tail = api.log.tail();
        return responder.prepare(std::move(outcome), tail);
      });
}

Handler checkpoint_handler(const AuditParts& parts) {
  return [parts](Api& api, Call& call) { answer_from_tiles(api, call, parts, signed_checkpoint); };
}

Handler tile_handler(const AuditParts& parts) {
  return [parts](Api& api, Call& call) {
    const auto asked = from_json<ReadAuditTile>(call.params);
    if (!asked) return call.responder.reject(asked.error());
    const auto tile = parse_tile_path("tile/" + asked->path);
    if (!tile) {
      return call.responder.reject({ErrorCode::INVALID_PARAMS,
                                    "path must be that of a tile, such as 0/x001/234 or "
                                    "entries/000.p/12",
                                    {{"field", std::string("path")}, {"value", asked->path}},
                                    {"signalbox rpc audit.checkpoint"}});
    }
    answer_from_tiles(api, call, parts, [tile = *tile](const AuditParts& with_tiles) {
      return tile_content(with_tiles, tile);
    });
  };
}

}  // namespace

std::vector<Method> audit_methods(const AuditParts& parts) {
  return {
      {"audit.adopt_key", true, Role::admin, params_of<AdoptAuditKey>(), adopt_key},
      {"audit.checkpoint", false, Role::viewer, params_of<NoParams>(), checkpoint_handler(parts)},
      {"audit.tile", false, Role::viewer, params_of<ReadAuditTile>(), tile_handler(parts)},
  };
}

}  // namespace signalbox
