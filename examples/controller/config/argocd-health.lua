-- Health of a PlannedDaemonSet for Argo CD: the value of resource.customizations.health.daemonplan.io_PlannedDaemonSet in the
-- ConfigMap argocd-cm. It says what the conditions Ready, Reconciling and Stalled say; what was paused is Suspended.
local hs = { status = "Progressing", message = "Waiting for the first plan" }
if obj.status == nil or obj.status.conditions == nil then
  return hs
end
local generation = obj.metadata.generation
if generation ~= nil and obj.status.observedGeneration ~= generation then
  hs.message = "Waiting for the plan of the newest spec"
  return hs
end
for _, condition in ipairs(obj.status.conditions) do
  if condition.status == "True" then
    if condition.type == "Stalled" then
      return { status = "Degraded", message = condition.reason .. ": " .. (condition.message or "") }
    end
    if condition.type == "Ready" then
      return { status = "Healthy", message = condition.message or "" }
    end
    if condition.type == "Reconciling" then
      hs.message = condition.reason .. ": " .. (condition.message or "")
      local state = obj.status.state
      if state == "Paused" or state == "Frozen" or state == "CanaryPaused" then
        hs.status = "Suspended"
      end
    end
  end
end
return hs
