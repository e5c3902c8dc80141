# Reference fits of ordinal regression: MASS 7.3, ordinal 2022, VGAM 1.1 (Debian packages r-cran-*).
# Rscript tests/reference/ordinal.R > tests/reference/ordinal.json
suppressMessages({library(MASS); library(ordinal); library(VGAM); library(sandwich); library(jsonlite)})
tight <- clm.control(gradTol = 1e-12, maxIter = 500)
numeric_columns <- function(formula, data) {
  X <- model.matrix(formula, data)[, -1, drop = FALSE]
  structure(lapply(seq_len(ncol(X)), function(j) unname(X[, j])), names = colnames(X))
}
clm_fit <- function(frame, columns, link, nominal = NULL) {
  right <- if (length(columns)) paste(sprintf("`%s`", columns), collapse = "+") else "1"
  given <- list(as.formula(paste("y ~", right)), data = frame, link = link,
                weights = frame$w, control = tight)
  if (!is.null(nominal)) given$nominal <- as.formula(paste("~", sprintf("`%s`", nominal)))
  fit <- do.call(clm, given)
  list(coef = as.list(coef(fit)), se = as.list(sqrt(diag(vcov(fit)))), loglik = as.numeric(logLik(fit)), fit = fit)
}
plain <- function(found) found[c("coef", "se", "loglik")]
vglm_fit <- function(frame, columns, family) {
  fit <- suppressWarnings(vglm(as.formula(paste("y ~", paste(sprintf("`%s`", columns), collapse = "+"))), family,
                               frame, weights = frame$w, epsilon = 1e-14, maxit = 100))
  list(coef = as.list(coef(fit)), se = as.list(sqrt(diag(vcov(fit)))), loglik = logLik(fit))
}
analysis <- function(y, columns, w = rep(1, length(y)), nonparallel = NULL) {
  frame <- data.frame(columns, y = y, w = w, check.names = FALSE)
  own <- names(columns)
  found <- list(y = as.character(y), order = levels(y), w = w, X = columns, nonparallel = nonparallel, fits = list())
  for (link in c("logit", "probit", "cloglog")) found$fits[[link]] <- plain(clm_fit(frame, own, link))
  logit <- clm_fit(frame, own, "logit")
  found$profile <- as.data.frame(confint(logit$fit, type = "profile"))
  # Likelihood-ratio tests of parallel lines, column by column.
  found$nominal <- setNames(lapply(own, function(name)
    2 * (clm_fit(frame, setdiff(own, name), "logit", name)$loglik - logit$loglik)), own)
  polr_fit <- polr(as.formula(paste("y ~", paste(sprintf("`%s`", own), collapse = "+"))), frame, weights = w, Hess = TRUE,
                   control = list(reltol = 1e-15, maxit = 1000))
  found$polr <- list(coef = as.list(coef(polr_fit)), loglik = as.numeric(logLik(polr_fit)))
  if (all(w == 1)) {  # columns in order, then thresholds
    found$HC0 <- unname(sqrt(diag(sandwich::sandwich(polr_fit))))
    found$CR1 <- unname(sqrt(diag(vcovCL(polr_fit, rep(seq_len(40), length.out = length(y)), type = "HC0", cadjust = TRUE))))
  }
  found$continuation <- vglm_fit(frame, own, sratio(parallel = TRUE))
  found$adjacent <- vglm_fit(frame, own, acat(reverse = TRUE, parallel = TRUE))
  if (!is.null(nonparallel)) {
    found$partial <- plain(clm_fit(frame, setdiff(own, nonparallel), "logit", nonparallel))
    parallel <- as.formula(paste("FALSE ~", sprintf("`%s`", nonparallel)))
    found$vglm_partial <- vglm_fit(frame, own, do.call(cumulative, list(parallel = parallel)))
  }
  found
}
data(wine, package = "ordinal"); data(pneumo, package = "VGAM")
survey <- na.omit(MASS::survey[, c("Exer", "Age", "Pulse", "Sex")])
birth <- MASS::birthwt
long <- reshape(transform(pneumo, id = 1:8), direction = "long", varying = list(c("normal", "mild", "severe")),
                v.names = "w", timevar = "level", idvar = "id")
long <- long[long$w > 0, ]
result <- list(
  housing = analysis(MASS::housing$Sat, numeric_columns(~ Infl + Type + Cont, MASS::housing), MASS::housing$Freq,
                     "ContHigh"),
  wine = analysis(wine$rating, numeric_columns(~ temp + contact, wine), nonparallel = "contactyes"),
  pneumo = analysis(factor(c("normal", "mild", "severe")[long$level], c("normal", "mild", "severe"), ordered = TRUE),
                    list(log_time = log(long$exposure.time)), long$w),
  survey = analysis(factor(survey$Exer, c("None", "Some", "Freq"), ordered = TRUE),
                    numeric_columns(~ Age + Pulse + Sex, survey), nonparallel = "Pulse"),
  birthwt = analysis(cut(birth$bwt, c(0, 2000, 2500, 3000, 3500, 9999), c("a", "b", "c", "d", "e"), ordered_result = TRUE),
                     numeric_columns(~ age + lwt + smoke + ht + ui, birth), nonparallel = "smoke"))
cat(toJSON(result, digits = 16, auto_unbox = TRUE, pretty = FALSE))
