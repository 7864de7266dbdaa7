#include "server/scheduler/incarnation.h"

#include "domain/try.h"
#include "server/engine/engine.h"
#include "server/scheduler/crash_verdicts.h"

namespace signalbox {
Stored<Incarnation> begin_incarnation(Engine& engine, const IncarnationFacts& facts,
                                      const CrashRecoveryContext& site) {
  auto transaction = engine.begin(by_the_service);
  Incarnation begun;
  begun.after_crash = engine.world().server.serving;
  begun.last_durable = engine.world().position;
  transaction.apply(StartServer{facts.version}).value();
  begun.number = engine.world().server.incarnation;
  if (!begun.after_crash) return begun;

  begun.verdicts = crash_verdicts(engine.world(), site.find_job, site.is_elsewhere);
  const auto report = TRY(site.keep(crash_report(
      {begun.number, facts.created_at_ns, begun.last_durable, facts.torn_bytes}, begun.verdicts)));
  begun.report = report.sha256;
  FinishRecovery finish{begun.last_durable, facts.torn_bytes, {}, begun.report};
  for (const CrashVerdict& verdict : begun.verdicts) {
    finish.items.push_back(verdict.item);
    if (verdict.item.kind == RecoveredKind::tick && verdict.item.verdict == Verdict::requeue) {
      transaction.apply(RecoverTick{verdict.item.name, verdict.item.evidence, true}).value();
    }
  }
  transaction.apply(finish).value();
  return begun;
}

}  // namespace signalbox
