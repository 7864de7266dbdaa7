// Every command there is. The fields in a command's Describe listing come from the client by name;
// the service fills in the others (ids and digests are arguments, so that decide() stays pure).
#pragma once

#include <variant>

#include "domain/access_command.h"
#include "domain/board_command.h"
#include "domain/lock_command.h"
#include "domain/one_of.h"
#include "domain/plan_command.h"
#include "domain/run_command.h"
#include "domain/runner_command.h"
#include "domain/server_command.h"
#include "domain/station_command.h"
#include "domain/tick_command.h"

namespace signalbox {

using CommandVariant = std::variant<
    StartRun, CancelRun, ClaimStation, HeartbeatStation, SetExternalRef, CompleteStation,
    DeferStation, RequestApproval, SettleStation, DispatchStation, ExpireLease, TimeOutStation,
    WakeStation, ConfirmCancel, StartServer, StopServer, PauseRun, ResumeRun, StallStation,
    AcquireLock, RefreshLock, ReleaseLock, ExpireLock, NoteRefreshFailure, BeginTick, EndTick,
    RecoverTick, TimeOutTick, NoteTickSkipped, NoteTickIncomplete, FinishRecovery, NoteClockJump,
    NoteProjectionRebuilt, NoteCellTaken, IssueAccessToken, RevokeAccessToken, NoteAccessDenied,
    SetExploration, SetPlan, ResetPlan, NextStep, HeartbeatStep, CompleteStep, FailStep,
    ExpireStepLease, TimeOutStep, WakeStep, RetryRun, PutProject, AdoptPolicy, RefusePolicy,
    SubmitCard, BlockCard, UnblockCard, StartCard, MergeCard, RetryBlockedCards, NoteWorktree,
    NoteTicksMissed, PruneRuns, AdoptAuditKey, PauseService, ResumeService, SetCardPriority,
    DrainRunner, EvictRunner, NoteLateUsage>;
using Command = OneOf<CommandVariant>;

}  // namespace signalbox
