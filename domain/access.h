// The four access roles of people and programs, in ascending order of rights, of which each
// includes the rights of those before it; the role of a job, which has none of these rights; that
// of an approver, who is a viewer with one right of an operator; and that of a runner, which may do
// nothing but take jobs and report on them.
//
// `operator` is a keyword of C++, so the enumerator has an underscore; its name for everything
// outside (JSON, tables, documents) is "operator", and the description below says so.
#pragma once

#include <cstdint>
#include <string_view>

#include <boost/describe/enum.hpp>
#include <boost/describe/enum_to_string.hpp>

namespace signalbox {

// Stored as a number: append only.
enum class Role : std::uint8_t {
  viewer = 1,     // reads
  worker = 2,     // does the work: claims, locks, ticks
  operator_ = 3,  // controls the work: runs, recovery
  admin = 4,      // manages access
  job = 5,        // the job of an attempt: what server/access/job_rights.h lists, and nothing else
  approver = 6,   // reads, and decides approvals
  runner = 7,     // executes jobs of the service on its own machine, and nothing else
};

// clang-format off
BOOST_DESCRIBE_ENUM_BEGIN(Role)
BOOST_DESCRIBE_ENUM_ENTRY(Role, viewer)
BOOST_DESCRIBE_ENUM_ENTRY(Role, worker)
, [] {
  struct Operator {
    static constexpr auto value() noexcept { return Role::operator_; }
    static constexpr auto name() noexcept { return "operator"; }
  };
  return Operator();
}()
BOOST_DESCRIBE_ENUM_ENTRY(Role, admin)
BOOST_DESCRIBE_ENUM_ENTRY(Role, job)
BOOST_DESCRIBE_ENUM_ENTRY(Role, approver)
BOOST_DESCRIBE_ENUM_ENTRY(Role, runner)
BOOST_DESCRIBE_ENUM_END(Role)
    // clang-format on

    inline const char* name_of(Role role) {
  return boost::describe::enum_to_string(role, "?");
}

// Returns whether a caller of `role` may call what requires the role `needs`, whatever the params.
[[nodiscard]] constexpr bool may(Role role, Role needs) {
  if (needs == Role::runner) return role == Role::runner || role == Role::admin;
  if (role == Role::approver) return needs == Role::viewer;
  return role != Role::job && role != Role::runner && role >= needs;
}

// Returns whether a caller of `role` sees no tokens, as it has nothing to do with one.
[[nodiscard]] constexpr bool sees_no_tokens(Role role) {
  return role == Role::viewer || role == Role::approver;
}

}  // namespace signalbox
