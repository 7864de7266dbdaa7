// Tests which texts may be handed to git as commits, branches and configuration.
#include "server/git/git_names.h"

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "server/git/pinned_config.h"
#include "tests/fixtures/temporary_directory.h"

namespace signalbox {
namespace {

TEST(GitNames, AnObjectIdIsWholeAndHexadecimal) {  // G12
  EXPECT_TRUE(is_object_id(std::string(40, 'a')));
  EXPECT_TRUE(is_object_id(std::string(64, '0')));
  for (const std::string& text :
       {std::string(), std::string(39, 'a'), std::string(41, 'a'), std::string(40, 'A'),
        std::string(40, 'g'), "--output=" + std::string(31, 'a'), std::string(39, 'a') + "\n"}) {
    EXPECT_FALSE(is_object_id(text)) << text;
  }
}

TEST(GitNames, ABranchIsWhatGitTakesForOneAndNeverAnOption) {  // G12
  for (const char* name : {"main", "feature/x", "signalbox/01-7", "a.b", "ünïcode", "a@b", "@x"}) {
    EXPECT_TRUE(is_branch_name(name)) << name;
  }
  for (const char* name : {"",       "-x",       "--upload-pack=x",
                           "a..b",   "a b",      "a~1",
                           "a^",     "a:b",      "a?",
                           "a*",     "a[",       "a\\b",
                           "/a",     "a/",       "a//b",
                           ".a",     "a/.b",     "a.",
                           "a.lock", "a.lock/b", "a@{1}",
                           "a\nb"}) {
    EXPECT_FALSE(is_branch_name(name)) << name;
  }
}

TEST(PinnedConfig, KeepsWhatTheOwnerNeedsAndDropsWhatNobodyDoes) {  // G12
  for (const char* key :
       {"core.bare", "remote.origin.url", "remote.origin.fetch", "user.name", "filter.lfs.clean",
        "core.sshCommand", "credential.https://host.helper", "url.git@host:.insteadOf",
        "merge.ours.driver", "extensions.objectFormat", "submodule.x.url"}) {
    EXPECT_TRUE(is_pinned_key(key, ConfigTrust::owners)) << key;
  }
  for (const char* key :
       {"core.fsmonitor", "CORE.FSMonitor", "core.hooksPath", "core.worktree", "core.pager",
        "core.gitProxy", "alias.x", "include.path", "includeIf.gitdir:/.path", "diff.external",
        "diff.x.textconv", "diff.x.command", "remote.origin.uploadpack", "remote.a.b.receivepack",
        "remote.origin.mirror", "protocol.ext.allow", "extensions.worktreeConfig", "pager.log",
        "nonsense"}) {
    EXPECT_FALSE(is_pinned_key(key, ConfigTrust::owners)) << key;
  }
  for (const char* key :
       {"filter.lfs.clean", "core.sshCommand", "credential.helper", "gpg.program",
        "url.x.pushInsteadOf", "http.proxy", "merge.x.driver", "commit.gpgSign"}) {
    EXPECT_FALSE(is_pinned_key(key, ConfigTrust::nobodys)) << key;
  }
  EXPECT_TRUE(is_pinned_key("remote.origin.url", ConfigTrust::nobodys));
}

TEST(PinnedConfig, WritesValuesThatGitReadsBack) {  // G12
  const std::string listed = std::string("core.bare\nfalse") + '\0' + "core.fsmonitor\n/evil" +
                             '\0' + "remote.a \"b\\c.url\nx;y\n#z\"" + '\0' + "user.flag" + '\0';
  EXPECT_EQ(pinned_config_text(listed, ConfigTrust::owners, "/nowhere"),
            "[core]\n\tbare = \"false\"\n"
            "[remote \"a \\\"b\\\\c\"]\n\turl = \"x;y\\n#z\\\"\"\n"
            "[user]\n\tflag\n");
  EXPECT_EQ(programs_of_config(listed),
            (std::vector<std::string>{"core.fsmonitor\n/evil", "remote.a \"b\\c.url\nx;y\n#z\""}));
}

// A push must not go to another repository that happens to be beside the link.
TEST(PinnedConfig, ARemoteBesideALinkedRepositoryIsWhereItsFilesAre) {  // A9, G12
  namespace fs = std::filesystem;
  const TemporaryDirectory directory;
  const fs::path root = fs::canonical(directory.path());
  for (const char* each : {"real/site", "real/remote.git", "remote.git"}) {
    fs::create_directories(root / each);
  }
  fs::create_directory_symlink(root / "real/site", root / "site");
  for (const char* repository : {"site", "real/site"}) {
    EXPECT_EQ(location_of_remote(root / repository, "../remote.git"),
              (root / "real/remote.git").string());
  }
  EXPECT_EQ(location_of_remote(root / "site", "../absent.git"), "../absent.git");
}

}  // namespace
}  // namespace signalbox
