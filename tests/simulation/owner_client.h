// A client that owns projects: it puts them, writes their policies (with mistakes), submits, blocks
// and unblocks cards, triggers loops, and reads the board. In the end it lets everything be merged.
// H1 H2 H3
#pragma once

#include <string>
#include <vector>

#include "tests/simulation/client.h"

namespace signalbox::simulation {

class OwnerClient final : public Client {
 public:
  using Client::Client;

  void begin() override { later(between(0, 800), &OwnerClient::act); }

 private:
  [[nodiscard]] bool is_mortal() const override { return false; }
  void wait() { later(between(20, calm() ? 400 : 1500), &OwnerClient::act); }
  void act();
  void tidy_up();
  void put_project();
  void on_put(const Reply& reply);
  void write_policy();
  void submit();
  void on_submitted(const Reply& reply);
  void act_on_card();
  void on_changed(const Reply& reply);
  void trigger();
  void on_triggered(const Reply& reply);
  void look();
  void on_looked(const Reply& reply);
  void on_card(const Reply& reply);
  void list();
  void on_listed(const Reply& reply);

  std::string project_;  // that the latest request is about
  std::string card_id_;  // that the latest request is about
  std::string loop_;     // that the latest request is about
  std::vector<std::string> projects_;
  std::vector<std::string> cards_;  // of acknowledged submits
  std::size_t known_cards_ = 0;     // when the list was requested
  int puts_ = 0;
  int submitted_ = 0;
  bool wrote_last_policy_ = false;
};

}  // namespace signalbox::simulation
