// What `signalbox project` says of a policy file: nothing that nobody has looked at yet.
#include "tests/scenarios/repository_fixture.h"

namespace signalbox {
namespace {

// The heartbeat looks only when it is triggered.
class ProjectPolicyTest : public RepositoryTest {
 protected:
  void put(const std::string& name, const std::map<std::string, std::string>& files) const {
    const std::filesystem::path place = scratch_.path() / name;
    make_repository(place, files);
    result({"project", "put", name, "--repository", place.string()});
  }
  [[nodiscard]] std::string got(const std::string& name) const {
    return server_.cli({"project", "get", name}).out;
  }
  // Returns the project's line of the list.
  [[nodiscard]] std::string listed(const std::string& name) const {
    const std::string list = server_.cli({"project", "list"}).out;
    const std::size_t begin = ("\n" + list).find("\n" + name + " ");
    return begin == std::string::npos ? list : list.substr(begin, list.find('\n', begin) - begin);
  }
  [[nodiscard]] bool is_read(const std::string& name) const {
    return rpc("project.get", {{"name", name}}).at("project").at("policy_read").as_bool();
  }
};

TEST_F(ProjectPolicyTest, NothingIsSaidOfAFileThatNoTickHasReadYet) {  // H3, O8
  put("good", {{"HEARTBEAT.md", "## Constraints\n- maxConcurrentAgents: 3\n"}});
  put("bad", {{"HEARTBEAT.md", "## Constraints\n- maxConcurrentAgents: five\n"}});
  put("none", {{"greeting.txt", "Hello\n"}});
  for (const std::string name : {"good", "bad", "none"}) {
    EXPECT_FALSE(is_read(name)) << name;
    EXPECT_NE(got(name).find("not read yet"), std::string::npos) << got(name);
    EXPECT_EQ(got(name).find("no file"), std::string::npos) << got(name);
    EXPECT_NE(listed(name).find("  not read yet  "), std::string::npos) << listed(name);
  }
  result({"loop", "trigger", "heartbeat"});
  await([this] { return is_read("good") && is_read("bad") && is_read("none"); });
  EXPECT_NE(listed("good").find("  HEARTBEAT.md  "), std::string::npos) << listed("good");
  EXPECT_NE(got("bad").find("never understood"), std::string::npos) << got("bad");
  EXPECT_NE(listed("bad").find("  held: refused  "), std::string::npos) << listed("bad");
  EXPECT_NE(got("none").find("no file when a tick last looked"), std::string::npos) << got("none");
  EXPECT_NE(listed("none").find("  defaults  "), std::string::npos) << listed("none");
}

// What a project had where it was before says nothing of its new repository.
TEST_F(ProjectPolicyTest, AProjectThatMovesIsReadAnew) {  // H3, O8
  put("web", {{"greeting.txt", "Hello\n"}});
  result({"loop", "trigger", "heartbeat"});
  await([this] { return is_read("web"); });
  const std::filesystem::path other = scratch_.path() / "other";
  make_repository(other, {{"HEARTBEAT.md", "## Constraints\n- maxConcurrentAgents: 3\n"}});
  result({"project", "put", "web", "--repository", other.string()});
  EXPECT_FALSE(is_read("web"));
  EXPECT_NE(got("web").find("not read yet"), std::string::npos) << got("web");
}

}  // namespace
}  // namespace signalbox
