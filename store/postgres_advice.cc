#include "store/postgres_advice.h"

#include <array>
#include <utility>

namespace signalbox {
namespace {

using Advice = std::pair<std::string_view, std::string_view>;

constexpr std::string_view changed_tables =
    ": somebody changed the tables of Signalbox, so put back what was there, or restore the "
    "database from a backup";

constexpr std::array statement_advices = {
    Advice{"42501", ": grant it to the role of cell.engine, or have that own the tables"},
    Advice{"42P01", changed_tables},
    Advice{"42703", changed_tables},
    Advice{"53100", ": free space on the database's disk"},
};

constexpr std::string_view wrong_credentials =
    ": correct the role or the database in cell.engine, or make them, and give the role's password "
    "in ~/.pgpass or PGPASSWORD of this service's user; pg_hba.conf has to let it in";

// By a part of a message. The first that is found counts.
constexpr std::array connection_advices = {
    Advice{":  28", wrong_credentials},
    Advice{":  3D000", wrong_credentials},
    Advice{"no password supplied", wrong_credentials},
    Advice{":  53300",
           ": raise max_connections of the database, or end what uses up its connections"},
    Advice{"session is read-only",
           ": the database has no primary among its hosts at present, or "
           "default_transaction_read_only is set for it or the role, which has to be off"},
    Advice{"due to statement timeout",
           ": statement_timeout of the database or the role is too short to connect, so raise it"},
};

}  // namespace

std::string statement_advice(std::string_view sqlstate) {
  for (const auto& [state, advice] : statement_advices) {
    if (sqlstate == state) return std::string(advice);
  }
  return {};
}

std::string connection_advice(std::string_view problems) {
  for (const auto& [part, advice] : connection_advices) {
    if (problems.find(part) != std::string_view::npos) return std::string(advice);
  }
  return {};
}

}  // namespace signalbox
