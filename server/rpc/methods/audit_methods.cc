// `audit.*`: the key that signs the log's tree, signed checkpoints of it, the tiles from which
// others compute proofs, and the records that they prove.
#include <algorithm>
#include <utility>

#include <boost/json/serialize.hpp>

#include "domain/refusals.h"
#include "domain/try.h"
#include "server/engine/dropped_history.h"
#include "server/limits.h"
#include "server/rpc/askers.h"
#include "server/rpc/command_call.h"
#include "server/rpc/methods/families.h"
#include "server/rpc/page_limit.h"
#include "server/rpc/read_models.h"
#include "server/scheduler/retention_settings.h"
#include "server/text/cloud_event.h"
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

struct ReadAuditRecords {
  std::optional<Position> from;
  std::optional<std::uint32_t> limit;
};
BOOST_DESCRIBE_STRUCT(ReadAuditRecords, (), (from, limit))

// A page ends with the record that reaches this: one of the largest records fits in any case.
constexpr std::size_t records_text_bytes = 4UL * 1024 * 1024;

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
  // Archives of another name would continue no earlier one.
  const auto drop = latest_drop(api.log);
  const auto* const dropped = drop ? event_as<HistoryDropped>(drop->event) : nullptr;
  if (dropped != nullptr && verifier->name != dropped->origin) {
    const std::string name(dropped->origin);
    return call.responder.reject(
        {ErrorCode::INVALID_PARAMS,
         "the log's archives are of " + name + ", and the key is of " + verifier->name,
         {{"field", std::string("verifier_key")}, {"name", name}},
         {"signalbox audit keygen -o FILE --name " + shell_word(name)}});
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

// Returns the name of the log's tree, as an export has it.
std::string tree_name(const AuditParts& parts) {
  const auto signer = parts.key.empty() ? std::nullopt : signer_in(parts.key);
  return signer ? signer->verifier().name : std::string("signalbox");
}

// Returns the page as the text of a JSON object. Blocks on the log.
Decided<std::string> records_page(const AuditParts& parts, const ReadAuditRecords& asked,
                                  std::uint32_t limit, Position tail) {
  const Position horizon = parts.log->horizon().position;
  const Position first = std::max<Position>(asked.from.value_or(horizon + 1), 1);
  if (first <= horizon) return tl::unexpected(history_dropped(*parts.log, first));
  const Position last = first > tail ? tail : first + std::min<Position>(limit - 1, tail - first);
  const std::string source = tree_name(parts);
  Sha256 sha256;
  Record record;
  Stored<void> decoded;
  Position next = first;
  std::string lines;
  if (first <= last) {
    const auto read = parts.log->scan_frames(first, last, [&](const Frame& frame) {
      decoded = decode_frame(frame, record);
      if (!decoded) return false;
      append_cloud_event(frame, record, leaf_hash(frame, sha256), source, lines);
      lines.back() = ',';  // instead of the line break
      next = frame.position + 1;
      return lines.size() < records_text_bytes;
    });
    if (!read) return unreadable(read.error());
    if (!decoded) return unreadable(decoded.error());
  }
  if (!lines.empty()) lines.pop_back();
  return R"({"records":[)" + lines + R"(],"next_from":)" + json::serialize(to_json(next)) +
         R"(,"more":)" + (next <= tail ? "true" : "false") + "}";
}

Rejection too_many_tiles() {
  return {ErrorCode::OVERLOADED,
          "you wait for many checkpoints, tiles and records already, or the log's disk doesn't "
          "answer: try again",
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

Handler records_handler(const AuditParts& parts) {
  return [parts](Api& api, Call& call) {
    const auto asked = from_json<ReadAuditRecords>(call.params);
    if (!asked) return call.responder.reject(asked.error());
    const auto limit = page_limit(asked->limit, 100, events_read_rows_max);
    if (!limit) return call.responder.reject(limit.error());
    if (parts.log == nullptr) {
      return call.responder.reject({ErrorCode::NOT_ALLOWED,
                                    "the log isn't on a disk: it has no records to prove",
                                    {},
                                    {"signalbox events"}});
    }
    const std::string caller = call.origin.actor;
    // What the caller can have seen is durable first, as with pages of events.
    const auto read = [&api, parts, caller, asked = *asked, limit = *limit,
                       responder = call.responder](Durability durability) {
      if (durability == Durability::unproved) return responder.ask_again();
      Lane lane{.name = "tiles for " + caller, .unwanted = parts.askers->add(responder.peer())};
      lane.failed = [responder](LaneFailure) { responder.reject(too_many_tiles()); };
      const BlockingPool& pool = parts.pool ? *parts.pool : api.log_readers;
      pool.run(std::move(lane), [&api, responder, parts, asked, limit]() -> std::function<void()> {
        const Position tail = api.log.tail();
        return [responder, tail, page = records_page(parts, asked, limit, tail)] {
          if (!page) return responder.reject(page.error());
          responder.result_text(*page, tail);
        };
      });
    };
    api.engine.release_when_durable(read, Patience::query);
  };
}

}  // namespace

std::vector<Method> audit_methods(const AuditParts& parts) {
  return {
      {"audit.adopt_key", true, Role::admin, params_of<AdoptAuditKey>(), adopt_key},
      {"audit.checkpoint", false, Role::viewer, params_of<NoParams>(), checkpoint_handler(parts)},
      {"audit.tile", false, Role::viewer, params_of<ReadAuditTile>(), tile_handler(parts)},
      // They have what a viewer isn't told, such as tokens.
      {"audit.records", false, Role::operator_, params_of<ReadAuditRecords>(),
       records_handler(parts)},
  };
}

}  // namespace signalbox
