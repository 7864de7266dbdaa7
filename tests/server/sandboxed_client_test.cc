// Tests what the client says where a sandbox refuses every connection, as that of codex does.
#include <gtest/gtest.h>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

#include "tests/fixtures/temporary_directory.h"
#include "tools/cli/client.h"

namespace signalbox {
namespace {

// From here on, connect() fails with EPERM in this process.
bool refuse_connections() {
  std::array<sock_filter, 4> filter{{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_connect, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  const sock_fprog program{filter.size(), filter.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// Connects in the sandbox, prints what the client says, and exits with its exit code.
[[noreturn]] void connect_in_sandbox(const ServerAddress& server, const char* variable) {
  ::setenv("CODEX_SANDBOX_NETWORK_DISABLED", variable, 1);
  if (!refuse_connections()) std::_Exit(2);
  const auto client = Client::connect(server);
  if (client) std::_Exit(0);
  std::fputs(client.error().error.at("message").as_string().c_str(), stderr);
  std::_Exit(static_cast<int>(client.error().exit_code));
}

TEST(SandboxedClient, NamesTheSandboxThatRefuses) {  // S7
  const TemporaryDirectory directory;
  const ServerAddress socket(directory.path() / "signalbox.sock");
  const ServerAddress port = ServerAddress::parse("tcp://127.0.0.1:7070").value();
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto refused = testing::ExitedWithCode(static_cast<int>(ExitCode::not_allowed));
  for (const ServerAddress& server : {socket, port}) {
    EXPECT_EXIT(connect_in_sandbox(server, "1"), refused,
                "the sandbox of codex.*sandbox_workspace_write.network_access=true");
  }
  EXPECT_EXIT(connect_in_sandbox(socket, "0"), refused, "not allowed to connect");
}

}  // namespace
}  // namespace signalbox
